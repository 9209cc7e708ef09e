import { withoutAbsent } from '../../model/json-object.ts';
import type { Plan } from '../../model/plan.ts';
import { APPLIED_SINCE } from '../../model/reason.ts';
import { COMPLETED, type Run, type StateLoss } from '../../model/run.ts';
import {
  counted,
  formatDuration,
  grouped,
  isOrAre,
  itOrThem,
  listed,
  printable,
  wasOrWere,
} from '../../text/printable.ts';
import { formatExamplePlace } from '../format-place.ts';
import type { RunFacts } from '../run-facts.ts';
import { foreign, type Section } from '../section.ts';
import { resourceNoun } from '../status-words.ts';
import { verificationNotes } from './drift-section.ts';

const KEYS_NAMED = 3;
const MAX_NOTE_LENGTH = 1_500;

/** Warnings, and changes that the mapping made to values; null if there are none. */
export function notesSection(facts: RunFacts): Section | null {
  const { run, plan, exported } = facts;
  const warnings = withoutAbsent([
    // A sentence if the run began with a state that had lost data.
    run.stateLoss !== undefined && stateLossText(run.stateLoss),
    ...goneWarnings(run),
    ...leftDeletesWarnings(facts.leftDeletes),
    ...(run.verification === undefined ? [] : verificationNotes(run.verification, run.resource)),
    ...changedIdWarnings(facts),
    ...answerWarnings(facts),
    ...(plan === null ? [] : planWarnings(plan)),
    ...(exported?.notes ?? []),
  ]);
  const items = [
    ...warnings.map((warning) => ({ words: foreign(warning, MAX_NOTE_LENGTH), tone: 'warning' as const })),
    ...(plan?.notices ?? []).map(({ message, records, keys = [] }) => ({
      words: [
        `${counted(records, 'record')}: `,
        foreign(message),
        keys.length > 0 && ` (${keys.map(printable).join(', ')}${records > keys.length ? ' …' : ''})`,
      ],
    })),
  ];
  if (items.length === 0) return null;
  return {
    id: 'notes',
    title: 'Notes',
    blocks: [
      {
        kind: 'list',
        style: 'notes',
        items,
        shown: { page: 40, text: 40 },
        more: 'note',
      },
    ],
  };
}

/** Notes about a plan for people, one sentence each. */
export function planWarnings(plan: Plan): string[] {
  return [
    ...changedSource(plan),
    ...appliedSince(plan),
    ...takeovers(plan),
    ...sharedFields(plan),
    ...withheldDeletes(plan),
    ...emptied(plan),
    ...duplicates(plan),
    ...unmatchedJoins(plan),
  ];
}

const ANSWERED_FIELDS_NAMED = 5;

/** Fields that the store altered or left out in its answers to upserts. */
function answerWarnings({ traffic }: RunFacts) {
  const { compared, fields } = traffic?.answers ?? { compared: 0, fields: [] };
  const of = (answers: number) => `in ${grouped(answers)} of ${counted(compared, 'answer')}`;
  const warnings = fields
    .slice(0, ANSWERED_FIELDS_NAMED)
    .flatMap(({ field, altered, dropped, respelled = 0, samples }) => {
      const [sample] = samples.filter(({ answered }) => answered !== undefined);
      const example =
        sample === undefined
          ? ''
          : `; for example ${sample.key}: ${sample.sent} was sent, ${sample.answered} was answered`;
      return withoutAbsent([
        altered > 0 && `The store changed ${field} ${of(altered)}${example}.`,
        dropped > 0 && `The store left out ${field} ${of(dropped)}.`,
        respelled > 0 && `The store spells ${field} differently ${of(respelled)}${example}.`,
      ]);
    });
  const more = fields.length - ANSWERED_FIELDS_NAMED;
  return more > 0
    ? [...warnings, `The store also changed or left out ${counted(more, 'other field')}.`]
    : warnings;
}

/** Explains the consequences of a state that has lost data. */
export function stateLossText({ kind, keys }: StateLoss): string {
  const why = {
    lost: 'The state is new: it has no record of earlier requests to this store.',
    behind:
      'The state is older than the last requests to this store (restored from a backup, or its last writes were lost).',
    unwitnessed: 'The artifacts that record the progress of the state are missing.',
  }[kind];
  const what = keys === 0 ? 'Everything' : `${counted(keys, 'known record')} ${isOrAre(keys)} in doubt and`;
  return `${why} ${what} will be sent again and update the store; no record counts as unchanged.`;
}

/** Why a run waits: `operations` must wait for `ms` milliseconds. */
export function requestsWaitText(operations: number, ms: number): string {
  const one = operations === 1;
  return `Waiting ${formatDuration(ms)} before ${counted(operations, 'record')} ${one ? 'is' : 'are'} sent: ${one ? 'the result of an earlier request for it is' : 'the results of earlier requests for them are'} unknown, and the store may still be processing ${one ? 'that request' : 'those requests'}.`;
}

/** A sentence if a verification found lost records, until everything has been sent again. */
function goneWarnings({ foundGone, resend, status }: Run) {
  if (foundGone === undefined || (resend && COMPLETED.includes(status))) return [];
  const { run, gone, sampled } = foundGone;
  return [
    `The verification ${run} found that the store had lost ${grouped(gone)} of ${counted(sampled, 'sampled record')}. Not all records have been sent again since then.`,
  ];
}

/** A sentence if the store answered with other ids than before. */
function changedIdWarnings({ changedIds, changedIdCount }: RunFacts) {
  if (changedIdCount === 0) return [];
  const examples = changedIds
    .slice(0, KEYS_NAMED)
    .map(({ key, knownId, answeredId }) => `${printable(key)} (was ${knownId}, now ${answeredId})`);
  const one = changedIdCount === 1;
  return [
    `The store answered with another id than before for ${counted(changedIdCount, 'product')}: it lost ${one ? 'it and created it' : 'them and created them'} again (for example after a restore), or it has ${one ? 'it' : 'them'} twice. ${listed(examples)}${changedIdCount > examples.length ? ' and others' : ''}.`,
  ];
}

/** A sentence if planned deletes were not sent. */
function leftDeletesWarnings(left: number) {
  if (left === 0) return [];
  return [
    `${counted(left, 'product')} ${wasOrWere(left)} not deleted: after the plan was made, another job sent ${itOrThem(left)}, the store gave ${itOrThem(left)} another id, or did not confirm ${left === 1 ? 'its' : 'their'} new url.`,
  ];
}

function changedSource({ source: { sinceLastRun, files } }: Plan) {
  if (sinceLastRun === undefined) return [];
  const { run, columnsGone, sheetBefore } = sinceLastRun;
  const one = columnsGone.length === 1;
  const names = listed(columnsGone.map((column) => `'${printable(column)}'`));
  return withoutAbsent([
    columnsGone.length > 0 &&
      `The source no longer has the column${one ? '' : 's'} ${names}, which run ${run} read: records are sent without ${one ? 'its' : 'their'} values. If that is wrong, correct the source, or the header in the mapping. To refuse such files, name the column under \`required\` in the mapping.`,
    sheetBefore !== undefined &&
      `The sheet '${printable(files[0]?.places?.title ?? '')}' was read; run ${run} read '${printable(sheetBefore)}'. To choose one, set \`sheet\` in the source of the job.`,
  ]);
}

function appliedSince({ skips }: Plan) {
  return skips
    .filter(({ code }) => code === APPLIED_SINCE)
    .map(
      ({ records, message }) =>
        `${counted(records, 'record')} left out: ${message}. To change ${itOrThem(records)} again, correct the source and run the job.`,
    );
}

/** Who owns the fields that this job keeps, and which fields another job sends as well. */
function sharedFields({ sharedFields: found, readsStore }: Plan) {
  const isRead = (field: string) => readsStore === true && field === 'variants.quantity';
  const keptAs = (what: string, areRead: boolean) => {
    const fields = found.filter(({ kept, field }) => kept && isRead(field) === areRead);
    return [...Map.groupBy(fields, ({ jobs }) => senders(jobs))].map(
      ([who, some]) =>
        `Kept as ${what}: ${listed(some.map(({ field }) => field))}, which ${who} (setting Keep of this job).`,
    );
  };
  const owned = [...keptAs('the store has it', true), ...keptAs('last acknowledged', false)];
  const contested = found
    .filter(({ kept, records }) => !kept && records > 0)
    .map(
      ({ field, jobs, records }) =>
        `${counted(records, 'record')} of this plan ${records === 1 ? 'changes' : 'change'} ${field}, which ${senders(jobs)} as well: in the same record each undoes what the other sent. Let one job own the field: the other keeps what the store has (setting Keep), or, where it only updates, has a mapping without it.`,
    );
  return [...owned, ...contested];
}

function senders(jobs: readonly string[]) {
  if (jobs.length === 0) return 'no job of this workspace sends';
  return jobs.length === 1 ? `the job ${jobs[0]} sends` : `the jobs ${listed(jobs)} send`;
}

function takeovers({ takeovers: found, resource }: Plan) {
  return found.map(({ job, sent, left, examples }) => {
    const total = sent + left;
    const one = resourceNoun(resource);
    const taken = sent > 0 ? `this job takes over ${grouped(sent)}` : 'this job takes over none of them';
    const stay = left > 0 ? `; ${job} keeps ${grouped(left)} unchanged` : '';
    const named = examples.slice(0, KEYS_NAMED).map(printable).join(', ');
    return `${counted(total, one)} of this source ${wasOrWere(total)} last sent by the job ${job}: ${taken}${stay} (${named}${total > KEYS_NAMED ? ' …' : ''}). Two jobs should not write the same ${one}s.`;
  });
}

function withheldDeletes(plan: Plan) {
  const { counts, deletesWithheld, deletesWithoutId, unconfirmed, unreadableKeys } = plan;
  const why = deletesWithheld === null ? null : whyWithheld(deletesWithheld, unreadableKeys);
  const gone = `${counted(counts.removed, 'product')} ${isOrAre(counts.removed)} no longer in the source`;
  return withoutAbsent([
    why !== null && counts.removed > 0 && `${gone}, but nothing is deleted: ${why}.`,
    deletesWithoutId > 0 &&
      `${counted(deletesWithoutId, 'removed product')} cannot be deleted: the store never confirmed an id. Delete by hand in the store.`,
    ...unconfirmedProducts(unconfirmed),
  ]);
}

function unconfirmedProducts({ keys, examples }: Plan['unconfirmed']) {
  if (keys === 0) return [];
  const one = keys === 1;
  const named = `${examples.slice(0, KEYS_NAMED).map(printable).join(', ')}${keys > KEYS_NAMED ? ' …' : ''}`;
  return [
    `${counted(keys, 'product')} may be in the store, although the source no longer has ${one ? 'it' : 'them'} (${named}). A run began to send ${one ? 'it' : 'them'}, but the store never confirmed ${one ? 'it' : 'them'}. Nothing proves that this job created ${one ? 'it' : 'them'}, so nothing is deleted. Delete unwanted products by hand. If the source has the key again, it is sent, and this note disappears.`,
  ];
}

function whyWithheld(withheld: NonNullable<Plan['deletesWithheld']>, unreadableKeys: number) {
  switch (withheld) {
    case 'key-unreadable':
      return `the url of ${counted(unreadableKeys, 'group')} of rows cannot be read, and the rows may belong to any of these products`;
    case 'retry':
      return 'a retry reads only the rejected rows';
    case 'ledger-empty':
    case 'sample':
      return null;
    default:
      return withheld satisfies never;
  }
}

function emptied({ emptied: fields, resource, undo }: Plan) {
  // An undo has no source, and names what it cannot take away itself.
  if (fields.length === 0 || undo !== undefined) return [];
  const one = resourceNoun(resource);
  const named = fields.map(({ field, records }) => `${printable(field)} (${counted(records, one)})`);
  const [why, instead] =
    resource === 'contacts'
      ? ['the API cannot clear them', '']
      : ['an update leaves them as they are', ', or set `blank: clear` in the mapping'];
  return [
    `These fields are now empty in the source, but ${why}: ${listed(named)}. The store keeps its values; clear them there by hand${instead}.`,
  ];
}

/** A join that matches nothing compares the wrong columns, or has the wrong file. */
function unmatchedJoins({ source, resource }: Plan) {
  return (source.joins ?? []).flatMap(({ name, file, records, without, keys }) =>
    records === 0 || without < records || keys === 0
      ? []
      : [
          `No ${resourceNoun(resource)} matched in ${printable(file)}: none of ${grouped(records)} has a key that the file has. Are \`match\` and \`on\` of the lookup ${printable(name)} the columns with the same codes?`,
        ],
  );
}

/** What a job does with copies. */
const COPIES: Readonly<Record<NonNullable<Plan['duplicates']>['policy'], string>> = {
  reject: 'rejects them',
  first: 'uses the first of each',
  last: 'uses the last of each',
  merge: 'merges them',
};

function duplicates({ duplicates: found, resource, source }: Plan) {
  if (found === null) return [];
  const { keys, copies, identical, policy, examples } = found;
  const field = resource === 'products' ? 'url' : 'id';
  const named = examples
    .slice(0, KEYS_NAMED)
    .map(({ key, ...place }) => `${printable(key)}${formatExamplePlace(place, source)}`);
  const same = identical > 0 ? `, ${grouped(identical)} of them identical and skipped` : '';
  return [
    `${counted(keys, field)} ${keys === 1 ? 'occurs' : 'occur'} more than once, ${counted(copies, 'copy', 'copies')} in all${same}; the job ${COPIES[policy]} (duplicates: ${policy}). They are: ${named.join(', ')}${keys > KEYS_NAMED ? ' …' : ''}.`,
  ];
}
