import { ACTIONS, type ActionName, actionOf, auditWords, findAudited } from '../../model/action.ts';
import { foreign, html, link, type Markup, quiet } from '../../report/html/markup.ts';
import { counted } from '../../text/printable.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { PageRequest } from '../route-parts.ts';
import { jobLink } from './link-button.ts';
import { BY_TIME, emptyBox, moment, type Page, pageOf, pager, type Reading, tableBox } from './page.ts';

const ENTRIES_PER_PAGE = 50;
/** A page reads no more entries than this; the command lists more. */
const MAX_READ = 2_000;

/** Who did what, newest first, of all jobs or of one. */
export async function auditPage(
  { context, program }: DashboardContext,
  { fields, reading }: PageRequest,
): Promise<Page> {
  const job = fields['job'] || undefined;
  const entries = await findAudited(context.state.audit, { job, limit: MAX_READ });
  const shown = pageOf(entries, ENTRIES_PER_PAGE, fields['page']);
  const linked = await runLinks(
    context,
    shown.items.flatMap(({ run, of }) => [run, of]),
  );
  return {
    title: 'Audit log',
    section: 'runs',
    lead: html`What people did, in the dashboard and by commands${job !== undefined && html`, with the job ${jobLink(job)}; <a href="/audit">all jobs</a>`}. Scheduled runs are not listed. Entries are kept for 400 days.`,
    body: html`${
      shown.items.length === 0
        ? emptyBox('No entries', 'Nothing was recorded yet.')
        : tableBox({
            caption:
              shown.total === MAX_READ
                ? `The newest ${MAX_READ} entries`
                : `${counted(shown.total, 'action')}, newest first`,
            columns: ['When', 'Who', ['Did', 'bare'], ['Job', 'short'], ['Run', 'short']],
            rows: shown.items.map((entry) => [
              moment(entry.at, reading),
              foreign(entry.who),
              html`${auditWords(entry)}${entry.by === 'command' && html` ${quiet('by a command')}`}`,
              entry.job !== null && jobLink(entry.job),
              html`${linked(entry.run)}${entry.of !== null && html`, of ${linked(entry.of)}`}`,
            ]),
          })
    }
${pager(shown, '/audit', { job }, BY_TIME)}
<p class="quiet">For programs: <code>${program} runs --audit --json</code></p>`,
  };
}

/** A run by its id, with a link where it has a page. */
type RunLinks = (run: string | null) => Markup | string | false;

/** Old runs are gone, and a refused command may have named a run that never was. */
async function runLinks(
  { state }: Pick<DashboardContext['context'], 'state'>,
  ids: readonly (string | null)[],
): Promise<RunLinks> {
  const named = new Set(ids.filter((id) => id !== null));
  const found = await Promise.all([...named].map((id) => state.runs.get(id)));
  const kept = new Set(found.map((run) => run?.id));
  return (id) => id !== null && (kept.has(id) ? link(`/runs/${encodeURIComponent(id)}`, id) : foreign(id));
}

/** The actions that concern the run itself, oldest first: `full token from 10.0.0.3 approved a plan`. */
export async function runActions(
  { context }: DashboardContext,
  run: string,
  reading: Reading,
): Promise<Markup | false> {
  const entries = (await findAudited(context.state.audit, { run, limit: MAX_ENTRIES_PER_RUN }))
    .filter(({ action, outcome }) => outcome === 'done' && isOfRun(action))
    .toReversed();
  if (entries.length === 0) return false;
  const linked = await runLinks(
    context,
    entries.flatMap((entry) => (entry.of === run ? entry.run : [])),
  );
  return html`<p class="quiet">${entries.map(
    (entry) =>
      html`${foreign(entry.who)} ${ACTIONS[entry.action].audit}${entry.of === run && html` (${linked(entry.run)})`}, ${moment(entry.at, reading)}. `,
  )}<a href="/audit">Audit log</a></p>`;
}

const MAX_ENTRIES_PER_RUN = 50;

/** Whether an action begins a run or decides about it; downloads and corrections do not. */
function isOfRun(name: ActionName) {
  const { to, command } = actionOf(name);
  return to !== undefined && command === name;
}
