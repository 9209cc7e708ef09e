import type { DeletesWithheld, Plan } from '../../model/plan.ts';
import { APPLIED_SINCE } from '../../model/reason.ts';
import { COMPLETED, type Run, type StateLoss } from '../../model/run.ts';
import { exampleWords } from '../place-words.ts';
import { counted, formatDuration, grouped, listed, printable } from '../printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { foreign, type Section } from '../section.ts';
import { verificationNotes } from './verification-section.ts';

const KEYS_NAMED = 3;
const LONGEST_NOTE = 1_500;

/** Warnings, and what was changed on the way; null where there is nothing to know. */
export function notesSection(facts: RunFacts): Section | null {
  const { run, plan, exported } = facts;
  const { verification, resource } = run;
  const warnings = [
    ...stateWarnings(run),
    ...goneWarnings(run),
    ...leftDeletesWarnings(facts.leftDeletes),
    ...(verification === undefined ? [] : verificationNotes(verification, resource)),
    ...changedIdWarnings(facts),
    ...(plan === null ? [] : planWarnings(plan)),
    ...(exported?.notes ?? []),
  ];
  const items = [
    ...warnings.map((warning) => ({ words: foreign(warning, LONGEST_NOTE), tone: 'warning' as const })),
    ...(plan?.notices ?? []).map(({ message, records }) => ({
      words: [`${counted(records, 'record')}: `, foreign(message)],
    })),
  ];
  if (items.length === 0) return null;
  return {
    id: 'notes',
    title: 'Worth knowing',
    blocks: [
      {
        kind: 'list',
        style: 'notes',
        items,
        shown: { page: 40, text: 40 },
        more: (left) => `and ${counted(left, 'more note')}`,
      },
    ],
  };
}

/** What a person should know about a plan besides its figures, one sentence each. */
export function planWarnings(plan: Plan): string[] {
  return [
    ...appliedSince(plan),
    ...takeovers(plan),
    ...withheldDeletes(plan),
    ...emptied(plan),
    ...duplicates(plan),
  ];
}

/** What it means that the state does not hold all that was sent. */
export function stateLossText({ kind, keys }: StateLoss): string {
  const why = {
    lost: 'The state is a new one: it does not know what was sent to this store before.',
    behind:
      'The state is older than what was sent to this store (a copy was put back, or its last moments were lost).',
    unwitnessed: 'The artifacts that record the progress of the state are missing.',
  }[kind];
  const what =
    keys === 0 ? 'Everything' : `${counted(keys, 'known record')} ${keys === 1 ? 'is' : 'are'} in doubt and`;
  return `${why} ${what} will be sent again, updating what the store has; no record counts as unchanged.`;
}

/** Why a run waits: `operations` are held back for `ms` milliseconds. */
export function requestsWaitText(operations: number, ms: number): string {
  const one = operations === 1;
  return `Waiting ${formatDuration(ms)} before ${counted(operations, 'record')} ${one ? 'is' : 'are'} sent: it is not known what became of ${one ? 'an earlier request for it' : 'earlier requests for them'}, and the store may still be working on ${one ? 'it' : 'these'}.`;
}

/** A sentence when the run began with a state that had lost something. */
function stateWarnings({ stateLoss }: Pick<Run, 'stateLoss'>): string[] {
  return stateLoss === undefined ? [] : [stateLossText(stateLoss)];
}

/** A sentence when a verification found records gone, until everything has been sent again. */
function goneWarnings({ foundGone, resend, status }: Run): string[] {
  if (foundGone === undefined || (resend && COMPLETED.includes(status))) return [];
  const { run, gone, sampled } = foundGone;
  return [
    `The verification ${run} found ${grouped(gone)} of ${counted(sampled, 'sampled record')} gone from the store, and not everything has been sent again since.`,
  ];
}

/** A sentence when the store answered other ids than before. */
function changedIdWarnings({ changedIds, changedIdCount }: RunFacts): string[] {
  if (changedIdCount === 0) return [];
  const examples = changedIds
    .slice(0, KEYS_NAMED)
    .map(({ key, knownId, answeredId }) => `${printable(key)} (was ${knownId}, now ${answeredId})`);
  const one = changedIdCount === 1;
  return [
    `The store answered another id than before for ${counted(changedIdCount, 'product')}: it had lost ${one ? 'it and created it' : 'them and created them'} again, as after a restore, or it holds ${one ? 'it' : 'them'} twice. ${listed(examples)}${changedIdCount > examples.length ? ' and others' : ''}.`,
  ];
}

/** A sentence when planned deletes were not sent. */
function leftDeletesWarnings(left: number): string[] {
  if (left === 0) return [];
  return [
    `${counted(left, 'product')} ${left === 1 ? 'was' : 'were'} not deleted: since the plan was made, another job has sent ${left === 1 ? 'it' : 'them'}, or the store gave ${left === 1 ? 'it' : 'them'} another id.`,
  ];
}

function appliedSince({ skips }: Plan): string[] {
  return skips
    .filter(({ code }) => code === APPLIED_SINCE)
    .map(
      ({ records, message }) =>
        `${counted(records, 'record')} left out: ${message}. To change ${records === 1 ? 'it' : 'them'} again, correct the source and run the job.`,
    );
}

function takeovers({ takeovers: found, resource }: Plan): string[] {
  return found.map(({ job, sent, left, examples }) => {
    const total = sent + left;
    const thing = resource === 'products' ? 'product' : 'contact';
    const taken = sent > 0 ? `${grouped(sent)} will be this job's from now on` : 'none of them change hands';
    const stay = left > 0 ? `; ${grouped(left)} unchanged stay with ${job}` : '';
    const named = examples.slice(0, KEYS_NAMED).map(printable).join(', ');
    return `${counted(total, thing)} of this source ${total === 1 ? 'was' : 'were'} last sent by the job ${job}: ${taken}${stay} (${named}${total > KEYS_NAMED ? ' …' : ''}). Two jobs should not write the same ${thing}s.`;
  });
}

function withheldDeletes(plan: Plan): string[] {
  const { counts, deletesWithheld, deletesWithoutId, unconfirmed, unreadableKeys } = plan;
  const why = deletesWithheld === null ? null : whyWithheld(deletesWithheld, unreadableKeys);
  const gone = `${counted(counts.removed, 'product')} ${counts.removed === 1 ? 'is' : 'are'} no longer in the source`;
  return [
    ...(why !== null && counts.removed > 0 ? [`${gone}, but nothing is deleted: ${why}.`] : []),
    ...(deletesWithoutId > 0
      ? [
          `${counted(deletesWithoutId, 'removed product')} cannot be deleted: the store never answered an id that is proven to be theirs. Delete by hand.`,
        ]
      : []),
    ...unconfirmedProducts(unconfirmed),
  ];
}

function unconfirmedProducts({ keys, examples }: Plan['unconfirmed']): string[] {
  if (keys === 0) return [];
  const one = keys === 1;
  const named = `${examples.slice(0, KEYS_NAMED).map(printable).join(', ')}${keys > KEYS_NAMED ? ' …' : ''}`;
  return [
    `${counted(keys, 'product')} may be in the store though the source no longer has ${one ? 'it' : 'them'}: ${one ? 'it was' : 'they were'} being sent, and the store never confirmed ${one ? 'it' : 'them'}, so nothing proves that this job created ${one ? 'it' : 'them'}, and nothing is deleted (${named}). Delete by hand what should not be there; a key that returns to the source is sent, and no longer named here.`,
  ];
}

function whyWithheld(withheld: DeletesWithheld, unreadableKeys: number): string | null {
  switch (withheld) {
    case 'key-unreadable':
      return `the url of ${counted(unreadableKeys, 'group')} of rows cannot be read, which might be any of them`;
    case 'retry':
      return 'a retry sees only the rows that were rejected';
    case 'ledger-empty':
      return null;
    default:
      return withheld satisfies never;
  }
}

function emptied({ emptied: fields }: Plan): string[] {
  if (fields.length === 0) return [];
  const named = fields.map(({ field, records }) => `${printable(field)} (${counted(records, 'contact')})`);
  return [
    `Emptied in the source, but cannot be cleared through the API: ${listed(named)}. The store keeps what it has; clear it there by hand.`,
  ];
}

function duplicates({ duplicates: found, resource, source }: Plan): string[] {
  if (found === null) return [];
  const { keys, copies, identical, policy, examples } = found;
  const field = resource === 'products' ? 'url' : 'id';
  const named = examples
    .slice(0, KEYS_NAMED)
    .map(({ key, ...place }) => `${printable(key)}${exampleWords(place, source)}`);
  const same = identical > 0 ? `, ${grouped(identical)} of them identical and skipped` : '';
  return [
    `${counted(keys, field)} ${keys === 1 ? 'occurs' : 'occur'} more than once, ${counted(copies, 'copy', 'copies')} in all${same}; the job says \`duplicates: ${policy}\`. They are: ${named.join(', ')}${keys > KEYS_NAMED ? ' …' : ''}.`,
  ];
}
