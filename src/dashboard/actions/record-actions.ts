import type { FastifyRequest } from 'fastify';
import { editFile, readEditable } from '../../config/edit-file.ts';
import type { Workspace } from '../../config/workspace.ts';
import type { ConflictSide } from '../../model/observation.ts';
import { jobFile, jobFileName } from '../../model/run.ts';
import {
  bullets,
  code,
  foreign,
  html,
  link,
  paragraphs,
  type Slot,
  styledText,
} from '../../report/html/markup.ts';
import { adoptedFile, decidePairs, openPairs, pairName, readDecisions } from '../../run/execute-run.ts';
import {
  FORGETS,
  forgetRecord,
  forgottenWords,
  REMAINS,
  remainsOf,
} from '../../run/records/forget-record.ts';
import { findRecords } from '../../run/records/record-history.ts';
import { changeText, type HeldRunRecord, heldRunRecords } from '../../run/records/run-records.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFoundError, PageError } from '../guard/page-error.ts';
import { historyHref } from '../pages/history-page.ts';
import {
  actionHref,
  buttonRow,
  CONFLICT_BUTTONS,
  jobHref,
  jobLink,
  linkButton,
  runLink,
} from '../pages/link-button.ts';
import { emptyBox, type Page, pageOf, pager, tableBox } from '../pages/page.ts';
import { attributes, submitButton } from '../pages/post-form.ts';
import {
  audit,
  type FormFields,
  liveRun,
  type RouteParts,
  workspaceOf,
  workspaceToEdit,
} from '../route-parts.ts';
import { storeWords } from './confirm-run.ts';
import { type ActionPages, type Confirmation, confirmationForm, isUuid } from './confirmation.ts';

/** A form of chosen keys stays below the limit of forms. */
const RECORDS_PER_PAGE = 100;
const VALUE_SHOWN = 200;
/** Fields of the form: each chosen record, and what the buttons say. */
const CHOSEN = 'record.';
const WHICH = 'which';
/** The button that keeps what was edited in the store. */
const KEEP: ConflictSide = 'store';
/** The setting of a job with the keys that it leaves out. */
const LEFT_OUT = ['leaveOut'];

/** What is done with single records, many at once: held ones are released, pairs decided, records left out, contacts forgotten. */
export function recordActions({ dashboard, uploads }: RouteParts): ActionPages {
  const { context } = dashboard;
  const pairsOf = (name: string) => {
    const job = workspaceOf(dashboard, name).job(name);
    if (job.kind !== 'import' || job.adopt === undefined)
      throw notFoundError(`The job ${name} adopts no products of the store.`);
    return adoptedFile({ job, store: { name: job.store } });
  };
  const contactOf = async ({ store = '', key = '' }: FormFields) => {
    const found = await findRecords(context, [dashboard.readWorkspace().store(store)], key, 2);
    const contact = found.find((record) => record.target.resource === 'contacts' && record.key === key);
    if (contact === undefined) throw notFoundError('No contact has this key.');
    return contact;
  };

  return {
    release: {
      ask: async (request) => await releasePage(dashboard, request),
      async act({ subject: run, fields }) {
        const { job } = await liveRun(dashboard, run);
        const conflicts = fields[WHICH] === KEEP ? KEEP : undefined;
        return { does: 'release', job, run, only: chosenRecords(fields), conflicts };
      },
    },
    adopt: {
      async ask(request) {
        const rows = await readDecisions(context.workspaceDir, pairsOf(request.subject));
        return pairsPage(rows, request);
      },
      async act(request) {
        const { subject: job, fields } = request;
        const decision = fields[WHICH] === 'new' ? 'new' : 'adopt';
        await decidePairs(context, { job, file: pairsOf(job) }, new Set(chosenRecords(fields)), decision);
        await audit(dashboard, request, { action: 'adopt', job });
        return actionHref('adopt', job);
      },
    },
    'leave-out': {
      async ask({ subject: job, fields }) {
        const leftOut = leftOutIn(workspaceToEdit(dashboard, job), job);
        if (fields['key'] !== undefined) return confirmLeaveOut(job, fields['key'], fields);
        if (leftOut.length > 0) return confirmTakeBack(job, leftOut);
        const body = emptyBox('None', 'A rejected record is left out where it is corrected.');
        return { title: `Records that ${job} leaves out`, section: 'jobs', body };
      },
      async act(request) {
        const { subject: job, fields } = request;
        const workspace = workspaceToEdit(dashboard, job);
        const { key } = fields;
        // Read once: what another visitor saves meanwhile is not overwritten.
        const file = readEditable(workspace, jobFile(job));
        const leftOut = leftOutOf(file);
        const back = key === undefined ? (chosenRecords(fields) ?? []) : [];
        const kept = key === undefined ? leftOut.filter((one) => !back.includes(one)) : [...leftOut, key];
        const saved = editFile(workspace, jobFile(job), {
          sha256: file.sha256,
          edits: [
            kept.length === 0
              ? { set: LEFT_OUT, to: undefined }
              : { set: LEFT_OUT, value: [...new Set(kept)] },
          ],
          fields: [],
          check: (inspection) => inspection.job(job)?.problems ?? [],
        });
        if (saved.kind !== 'saved') {
          const why = saved.kind === 'refused' ? saved.problems.map(({ message }) => message).join('; ') : '';
          throw new PageError(409, `${jobFile(job)} was not changed`, dashboard.redact(why || 'Try again.'));
        }
        await audit(dashboard, request, { action: 'leave-out', job });
        return backOf(job, fields);
      },
    },
    forget: {
      async ask({ fields }) {
        const contact = await contactOf(fields);
        const { store, key, title } = contact;
        return {
          does: 'forget',
          to: key,
          title: `Forget contact ${key}?`,
          lead: html`Removes what Storeferry has kept of <b>${foreign(title ?? key)}</b>, contact ${code(foreign(key))} of the store <b>${store}</b>, for a request of erasure.`,
          warnings: ['This cannot be undone.'],
          effects: [...FORGETS, ...REMAINS.map((what) => html`Remains: ${what}.`)],
          fields: { store, key },
          back: historyHref(contact),
        };
      },
      async act(request) {
        const contact = await contactOf(request.fields);
        const forgotten = await forgetRecord(context, contact);
        // They may have rows of the contact, and are sent again in a moment.
        await uploads.clear();
        await audit(dashboard, request, { action: 'forget' });
        return {
          title: `Contact ${contact.key} is ${forgotten.erased ? 'forgotten' : 'not yet erased on disk'}`,
          section: 'records',
          body: html`${paragraphs(forgottenWords(forgotten))}
<h2>What remains</h2>
<p>To be removed by hand where the law asks for it:</p>
${bullets(remainsOf(forgotten), 'does')}
${buttonRow(linkButton('/records', { label: 'Records' }))}`,
        };
      },
    },
  };
}

/** The held records of a run with their old and new values, of which all or some can be released. */
async function releasePage(
  dashboard: DashboardContext,
  { subject, fields: { key, conflicts, page: number }, viewer }: FastifyRequest,
): Promise<Page> {
  const run = await liveRun(dashboard, subject);
  const { id, job, store, baseUrl } = run;
  const held: HeldRunRecord[] = [];
  for await (const batch of heldRunRecords(dashboard.context, run)) held.push(...batch);
  const isOne = key !== undefined;
  const wanted = isOne ? held.filter((record) => record.key === key) : held;
  const open = wanted.filter(isOpen);
  const shown = pageOf(wanted, RECORDS_PER_PAGE, number);
  const all = held.filter(isOpen).length;
  const button = (value: string, label: string, weight: string) =>
    submitButton(label, { name: WHICH, value, weight });
  const isEdited = open.some(({ edited }) => edited);
  const source =
    isEdited && isOne ? CONFLICT_BUTTONS.source : `Release ${isOne ? 'this record' : 'the chosen records'}`;
  const choices = [
    conflicts !== KEEP && button('chosen', source, 'primary'),
    isEdited &&
      conflicts !== 'source' &&
      button(KEEP, CONFLICT_BUTTONS.store, conflicts === KEEP ? 'primary' : ''),
  ];
  const buttons = html`${open.length > 0 && choices} ${!isOne && all > 0 && button('all', `Release all ${grouped(all)}`, 'danger')}`;
  const controls = tableBox({
    caption: 'Held records',
    captionHidden: true,
    columns: ['Record', ['Values: old → new', 'bare'], ['From', 'short'], 'Now'],
    rows: shown.items.map((record, index) => {
      const { key, changes, place } = record;
      // The ledger does not know a new record.
      const name = record.created
        ? foreign(key)
        : link(historyHref({ store: run.store, target: run, key }), foreign(key));
      return [
        isOpen(record) ? recordChoice(key, index, `Release ${key}`, isOne, name) : name,
        bullets(changes.map((change) => foreign(changeText(change), VALUE_SHOWN))),
        place === null ? '' : code(foreign(place)),
        record.isSent ? 'sent since' : record.refusal === null ? 'held' : foreign(record.refusal.message),
      ];
    }),
  });
  const effects = [
    html`Sends the held values to the store ${storeWords({ name: store, baseUrl })}: <b>${counted(all, 'record')}</b> can be sent. The source is not read again.`,
    isEdited &&
      html`Some fields differ from what was sent, in the store and in the source. <b>${CONFLICT_BUTTONS.store}</b> leaves those fields alone, also in later runs until one of both changes, and sends the rest of the record.`,
    'A record is left out if it has changed since, or a newer run rejects it or holds it with other values.',
    'It is a run of its own, and can be undone.',
  ];
  return {
    title: `Release held records of run ${id}`,
    section: 'runs',
    lead: html`${jobLink(job)} held ${counted(held.length, 'record')} of ${runLink(id)}: nothing of them was sent. Compare the values, and release what is right.`,
    body: html`${bullets(effects, 'does')}
${isOne && html`<p>${link(actionHref('release', id), 'All records that the run holds')}</p>`}
${confirmationForm({ does: 'release', to: id, controls, buttons }, viewer)}
${pager(shown, actionHref('release', id))}
${shown.count > 1 && styledText('quiet', 'The chosen records are those of this page.')}`,
  };
}

function isOpen({ isSent, refusal }: HeldRunRecord) {
  return !isSent && refusal === null;
}

/** A check box that chooses a record of a list. */
function recordChoice(key: string, index: number, label: string, checked = false, name: Slot = foreign(key)) {
  const id = `${CHOSEN}${index}`;
  return html`<span class="choice"><input type="checkbox" id="${id}" name="${id}" value="${key}" aria-label="${label}"${attributes({ checked })}> ${name}</span>`;
}

/** The keys that a form has chosen; undefined for all records. PageError if none is chosen. */
function chosenRecords(fields: FormFields): readonly string[] | undefined {
  if (fields[WHICH] === 'all') return undefined;
  const keys = Object.entries(fields).flatMap(([name, key]) =>
    name.startsWith(CHOSEN) && key !== undefined ? [key] : [],
  );
  if (keys.length > 0) return keys;
  throw new PageError(400, 'No record chosen', 'Go back and tick the records.');
}

/** Records that may be products which the store had before. */
function pairsPage(
  rows: Awaited<ReturnType<typeof readDecisions>>,
  { subject: job, fields, viewer }: FastifyRequest,
): Page {
  const open = openPairs(rows);
  const shown = pageOf(open, RECORDS_PER_PAGE, fields['page']);
  const buttons = html`${submitButton('They are the same product', { name: WHICH, value: 'adopt' })} ${submitButton('The records are new', { name: WHICH, value: 'new', weight: '' })}`;
  const controls = tableBox({
    caption: 'Pairs to decide',
    captionHidden: true,
    columns: ['In the source', ['In the store', 'bare'], ['Found by', 'short'], ['Score', 'numeric']],
    rows: shown.items.map((row, index) => [
      recordChoice(pairName(row), index, `${row.url} and ${row.storeUrl}`, false, foreign(row.url)),
      foreign(row.storeUrl),
      row.foundBy,
      row.score,
    ]),
  });
  return {
    title: `Pairs of ${job} with the store`,
    section: 'jobs',
    lead: html`Records of ${jobLink(job)} that may be products which the store had before: ${counted(open.length, 'pair')} to decide, ${rows.length - open.length} decided. They are held until then.`,
    body: html`${
      open.length === 0
        ? emptyBox('Nothing to decide', 'The next plan of the job uses what was decided.')
        : confirmationForm({ does: 'adopt', to: job, controls, buttons }, viewer)
    }
${pager(shown, actionHref('adopt', job))}`,
  };
}

/** The keys of the records that the file of a job leaves out; none without a file. */
export function leftOutIn(workspace: Workspace, job: string): readonly string[] {
  return workspace.jobNames().includes(job) ? leftOutOf(readEditable(workspace, jobFile(job))) : [];
}

function leftOutOf(file: ReturnType<typeof readEditable>): readonly string[] {
  const listed = file.at(LEFT_OUT);
  return Array.isArray(listed) ? listed.map(String) : [];
}

/** The page of corrections from which a record was left out, or that of the job. */
function backOf(job: string, { run, draft, page }: FormFields) {
  if (run === undefined || !isUuid(draft)) return jobHref(job);
  return actionHref('correct', run, { draft, page: /^\d{1,6}$/.test(page ?? '') && page });
}

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
      `It can be taken back: the page of the job lists what is left out.${file}`,
    ],
    fields: { key, run, draft, page },
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
  };
}
