import { dataTable, foreign, html, type Markup } from '../../report/html/markup.ts';
import {
  changeText,
  findLedgerOf,
  RECORD_OUTCOMES,
  type RunRecord,
  runRecords,
} from '../../run/records/run-records.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import { historyHref } from './history-page.ts';
import { type Frame, page } from './page.ts';
import { pageOf, pager } from './runs-page.ts';

const RECORDS_A_PAGE = 50;
/** A page reads no more records of a run than this; the command lists all. */
const MOST_READ = 20_000;
const TEXT_SHOWN = 400;

/** The outcome of each record of a run, filtered by outcome; undefined when neither runs nor the history knows the run. */
export async function outcomesPage(
  { context, openWorkspace, program }: DashboardContext,
  id: string,
  { outcome: asked, page: number }: { readonly outcome?: unknown; readonly page?: unknown },
  frame: Frame,
): Promise<string | undefined> {
  const workspace = openWorkspace();
  const stores = workspace.storeNames().map((name) => workspace.store(name));
  const run = await context.state.runs.get(id);
  const found = await findLedgerOf(context, stores, run, id);
  if (found === undefined) return undefined;
  const { resource } = found.target;
  if (resource === 'contacts' && !frame.viewer.canAct) {
    throw new PageError(
      403,
      'Full access only',
      'Records of contacts hold personal data: sign in with the token that has full access.',
    );
  }
  const outcome = RECORD_OUTCOMES.find((known) => known === asked);
  const records: RunRecord[] = [];
  for await (const batch of runRecords(context, { ...found, run, outcome })) {
    records.push(...batch.slice(0, MOST_READ - records.length));
    if (records.length >= MOST_READ) break;
  }
  const shown = pageOf(records, RECORDS_A_PAGE, number);
  const href = (name: string | undefined, at: number) =>
    `/runs/${id}/outcomes?${new URLSearchParams({ ...(name === undefined ? {} : { outcome: name }), ...(at > 1 ? { page: String(at) } : {}) })}`;
  const link = (key: string) => historyHref({ store: found.store, target: found.target, key });
  return page({
    ...frame,
    title: `Records of run ${id}`,
    section: 'runs',
    heading: html`Records of run ${id}`,
    body: html`<p class="page-lead">${run === undefined ? html`Run ${id}, of which the history is kept${frame.viewer.canAct && html` (<a href="/runs/${id}/undo">undo it</a>)`}` : html`<a href="/runs/${id}">Run ${id}</a> of ${run.job}`}. Unchanged records are not listed.</p>
${filterForm(id, outcome)}
${outcome === 'held' && records.length > 0 && frame.viewer.canAct && html`<p class="actions"><a class="button primary" href="/runs/${id}/release">Release held records</a></p>`}
${
  records.length === 0
    ? html`<section class="empty"><h2>No records</h2><p>No record of this run has this outcome, or its versions are no longer kept.</p></section>`
    : html`<div class="report"><div class="part">${recordsTable(shown.items, records.length, link)}</div></div>`
}
${pager(shown, (at) => href(outcome, at))}
<p class="quiet">All of them as a file: <code>${program} runs ${id} --records --csv</code></p>`,
  });
}

function filterForm(id: string, outcome: string | undefined): Markup {
  const option = (value: string, label: string) =>
    html`<option value="${value}"${(outcome ?? '') === value && html` selected`}>${label}</option>`;
  return html`<form class="filter" method="get" action="/runs/${id}/outcomes">
<p><label for="outcome">Outcome</label><select id="outcome" name="outcome">${option('', 'All outcomes')}${RECORD_OUTCOMES.map((name) => option(name, name))}</select></p>
<p><button type="submit" class="button">Show</button></p>
</form>`;
}

function recordsTable(records: readonly RunRecord[], count: number, link: (key: string) => string): Markup {
  const caption = count === MOST_READ ? `The first ${MOST_READ} records` : `${count} records`;
  return dataTable({
    caption,
    columns: [
      { header: 'Key' },
      { header: 'Outcome', short: true },
      { header: 'From', short: true },
      { header: 'What', bare: true },
    ],
    rows: records.map(({ key, outcome, place, reason, created, changes }) => {
      const changed = created ? 'new' : (changes ?? []).map(changeText).join('; ');
      return [
        key === null
          ? html`<span class="quiet">no key</span>`
          : html`<a href="${link(key)}">${foreign(key)}</a>`,
        outcome,
        place === null ? '' : html`<code>${foreign(place)}</code>`,
        foreign(reason?.message ?? changed, TEXT_SHOWN),
      ];
    }),
  });
}
