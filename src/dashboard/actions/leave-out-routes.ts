import type { FastifyInstance } from 'fastify';
import { editFile, readEditable } from '../../config/edit-file.ts';
import type { Workspace } from '../../config/workspace.ts';
import { jobFile, jobFileName } from '../../model/run.ts';
import { bullets, foreign, html } from '../../report/html/markup.ts';
import { PageError } from '../guard/page-error.ts';
import { accessTo, actionRoute, jobHref, jobLink } from '../pages/link-button.ts';
import { emptyBox } from '../pages/page.ts';
import { audit, type FormFields, type RouteParts, workspaceOf } from '../route-parts.ts';
import { chosenRecords, recordChoice } from './action-routes.ts';
import { type Confirmation, confirmationPage, isUuid } from './confirmation.ts';
import { correctHref } from './correct-page.ts';

const SETTING = ['leaveOut'];

/** The keys of the records that the file of a job leaves out; none without a file. */
export function leftOutIn(workspace: Workspace, job: string): readonly string[] {
  return workspace.jobNames().includes(job) ? leftOutOf(readEditable(workspace, jobFile(job))) : [];
}

function leftOutOf(file: ReturnType<typeof readEditable>): readonly string[] {
  const listed = file.at(SETTING);
  return Array.isArray(listed) ? listed.map(String) : [];
}

/** Leaves a rejected record out of all later runs of a job, and takes that back. */
export function leaveOutRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  app.get(actionRoute('leave-out'), accessTo('leave-out'), (request, reply) => {
    const { subject: job } = request;
    const leftOut = leftOutIn(workspaceOf(dashboard, job), job);
    const fields = request.fields;
    const { key } = fields;
    if (key === undefined && leftOut.length === 0)
      return reply.sendPage({ title: `Records that ${job} leaves out`, section: 'jobs', body: NONE });
    const confirmation =
      key === undefined ? confirmTakeBack(job, leftOut) : confirmLeaveOut(job, key, fields);
    return reply.sendPage(confirmationPage(confirmation, request.viewer));
  });

  app.post(actionRoute('leave-out'), async (request, reply) => {
    const { subject: job } = request;
    const workspace = workspaceOf(dashboard, job);
    const fields = request.fields;
    const { key } = fields;
    // Read once: what another visitor saves meanwhile is not overwritten.
    const file = readEditable(workspace, jobFile(job));
    const leftOut = leftOutOf(file);
    const back = key === undefined ? (chosenRecords(fields) ?? []) : [];
    const kept = key === undefined ? leftOut.filter((one) => !back.includes(one)) : [...leftOut, key];
    const saved = editFile(workspace, jobFile(job), {
      sha256: file.sha256,
      edits: [
        kept.length === 0 ? { set: SETTING, to: undefined } : { set: SETTING, value: [...new Set(kept)] },
      ],
      fields: [],
      check: (inspection) => inspection.job(job)?.problems ?? [],
    });
    if (saved.kind !== 'saved') {
      const why = saved.kind === 'refused' ? saved.problems.map(({ message }) => message).join('; ') : '';
      throw new PageError(409, `${jobFile(job)} was not changed`, dashboard.redact(why || 'Try again.'));
    }
    await audit(dashboard, request, { action: 'leave-out', job });
    return reply.redirect(backOf(job, fields), 303);
  });
}

/** The page of corrections from which a record was left out, or that of the job. */
function backOf(job: string, { run, draft, page }: FormFields): string {
  if (run === undefined || !isUuid(draft)) return jobHref(job);
  return correctHref(run, draft, /^\d{1,6}$/.test(page ?? '') ? Number(page) : 1);
}

const NONE = emptyBox('None', html`<p>A rejected record is left out where it is corrected.</p>`);
const STAYS = 'Nothing is sent or deleted now. What the store has of a record stays as it is.';

function confirmLeaveOut(job: string, key: string, { run, draft, page }: FormFields): Confirmation {
  const file = jobFileName(job) === job ? '' : ' It holds for all stores of the job.';
  return {
    does: 'leave-out',
    to: job,
    title: 'Leave this record out?',
    lead: html`<b>${foreign(key)}</b>, of ${jobLink(job)}`,
    effects: [
      'Later runs neither send nor reject it, whatever its rows hold, also from a new file. Their reports count it as left out by choice.',
      STAYS,
      html`It can be taken back: the page of the job lists what is left out.${file}`,
    ],
    fields: Object.fromEntries(
      Object.entries({ key, run, draft, page }).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value] as const],
      ),
    ),
    back: backOf(job, { run, draft, page }),
  };
}

function confirmTakeBack(job: string, leftOut: readonly string[]): Confirmation {
  return {
    does: 'leave-out',
    to: job,
    title: `Records that ${job} leaves out`,
    lead: html`By choice, runs of ${jobLink(job)} neither send nor reject them. Tick those that later runs should send again.`,
    effects: [STAYS],
    controls: bullets(leftOut.map((key, index) => recordChoice(key, index, `Take back ${key}`))),
    button: { label: 'Take back the chosen records' },
    back: jobHref(job),
  };
}
