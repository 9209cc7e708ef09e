import { withoutAbsent } from '../../model/json-object.ts';
import { type Drift, forgotten, hasDrifted, type Run, type Verification } from '../../model/run.ts';
import { counted, formatShare, grouped, listed, wasOrWere } from '../../text/printable.ts';
import type { RunFacts, View } from '../run-facts.ts';
import { type Block, foreign, paragraph, type Section, styled, table, type Words } from '../section.ts';
import { resourceNoun } from '../status-words.ts';

/** How the store differs from what it last answered; null for runs that have not compared it. */
export function driftSection({ run, totals }: RunFacts, { onRunPage }: View): Section | null {
  const { drift, notCompared } = run;
  if (drift === undefined) {
    if (notCompared === undefined) return null;
    const words = styled('tone-warning', ['The store was not compared: ', foreign(notCompared)]);
    return { id: 'drift', title: TITLE, blocks: [paragraph([words])] };
  }
  // Before the first import of a job there is nothing to compare.
  if (drift.slice !== undefined && drift.known === 0) return null;
  const { checked, edited, fields, deleted, recreated, strangers, byField, file } = drift;
  const row = (name: string, figure: number, note: Words = '') => [name, grouped(figure), note];
  const blocks: Block[] = withoutAbsent([
    table(
      'The records that were compared',
      ['Finding', ['Records', 'numeric'], ['What it means', 'bare']],
      withoutAbsent([
        row('compared', checked, `of ${grouped(drift.known)} known, ${WAYS[drift.by]}`),
        row('edited', edited, edited > 0 ? `${counted(fields, 'field')}: ${fieldWords(byField)}` : ''),
        row('deleted', deleted, 'the store no longer has them'),
        row('made again', recreated, 'the store has them under another id'),
        strangers !== null && row('strangers', strangers, 'no job has sent them'),
        run.kind === 'drift' && row('requests', totals.requests),
      ]),
    ),
    ...examplesOf(drift),
    paragraph(notesOf(drift, run)),
    file !== undefined &&
      onRunPage !== true &&
      paragraph([['All findings, as a table: ', foreign(file)]], { role: 'file' }),
  ]);
  return { id: 'drift', title: TITLE, blocks };
}

const TITLE = 'The store and what it last answered';

const WAYS: Readonly<Record<Drift['by'], string>> = {
  reading: 'read from the store',
  touching: 'asked by writes that change nothing',
};

const FIELDS_NAMED = 8;

function fieldWords(byField: Drift['byField']) {
  const named = byField.slice(0, FIELDS_NAMED).map(({ field, records }) => `${field} (${grouped(records)})`);
  return listed(byField.length > FIELDS_NAMED ? [...named, 'others'] : named);
}

const KINDS: Readonly<Record<Drift['examples'][number]['kind'], string>> = {
  edited: 'edited',
  deleted: 'deleted',
  recreated: 'made again',
  stranger: 'stranger',
};

function examplesOf({ examples }: Drift): Block[] {
  if (examples.length === 0) return [];
  const rows = examples.flatMap(({ kind, key, fields }): Words[][] => {
    const lines = kind === 'edited' ? fields : [];
    if (lines.length === 0) return [[KINDS[kind], foreign(key), '', '', '']];
    return lines.map(({ path, believed = '', found = '' }) => [
      KINDS[kind],
      foreign(key),
      path,
      foreign(believed),
      foreign(found),
    ]);
  });
  return [
    table('Examples', ['Finding', 'Record', 'Field', 'Last answered', 'Now'], rows, {
      captionHidden: false,
      shown: { page: rows.length, text: 30 },
      more: '',
    }),
  ];
}

function notesOf({ by, notComparable, checked, known, slice, accepted }: Drift, { resource }: Run) {
  const one = resourceNoun(resource);
  return withoutAbsent([
    by === 'touching' &&
      (resource === 'products'
        ? 'The store cannot be read, so a title that was edited there by hand is overwritten and not found, a product whose url was changed counts as deleted, and strangers are not seen.'
        : 'The store cannot be read, so contacts that no job has sent are not seen.'),
    notComparable > 0 &&
      `${counted(notComparable, `further ${one}`)} of this job ${wasOrWere(notComparable)} not compared, because ${notComparable === 1 ? 'it is' : 'they are'} in doubt or ${notComparable === 1 ? 'has' : 'have'} no id. The next run sends records in doubt again.`,
    slice !== undefined &&
      `This was ${sliceWords(slice)} of ${grouped(slice.of)}: further runs compare the other parts.`,
    slice === undefined && checked < known && 'This was a sample: other records were not compared.',
    accepted === true &&
      'Accepted: the ledger has these values, later runs keep them, and later comparisons do not report them. Deleted records stay deleted until the source changes.',
    'Stock does not count as edited, because sales change it; neither do fields that the job does not send.',
  ]);
}

function sliceWords({ number, of, parts }: NonNullable<Drift['slice']>) {
  const names = Array.from({ length: parts }, (_, index) => grouped(((number + index) % of) + 1));
  return `${parts === 1 ? 'part' : 'parts'} ${listed(names)}`;
}

/** What a comparison has found, in one sentence. */
export function driftHeadline(drift: Drift, { resource }: Pick<Run, 'resource'>): string {
  const { checked, edited, fields, deleted, recreated } = drift;
  const of = counted(checked, resourceNoun(resource));
  if (!hasDrifted(drift)) return `Of ${of}, all are as the store last answered them.`;
  const parts = withoutAbsent([
    edited > 0 && `${grouped(edited)} ${wasOrWere(edited)} edited (${counted(fields, 'field')})`,
    deleted > 0 && `${grouped(deleted)} ${wasOrWere(deleted)} deleted`,
    recreated > 0 && `${grouped(recreated)} ${wasOrWere(recreated)} made again under another id`,
  ]);
  return `Of ${of}, ${listed(parts)} in the store.`;
}

const ALTERED_NAMED = 5;

/** The figures of a verification; null for all other runs. */
export function verificationSection({ run, totals }: RunFacts): Section | null {
  if (run.verification === undefined) return null;
  const { sampled, known, asKnown, recreated, altered, rejected, unsent } = run.verification;
  const row = (name: string, figure: number, note = '') => [name, grouped(figure), note];
  return {
    id: 'records',
    title: 'What the store still has',
    blocks: [
      table(
        'The answers of the store to the sample',
        ['Answer', ['Records', 'numeric'], ['What it means', 'bare']],
        withoutAbsent([
          row('sampled', sampled, `of ${grouped(known)} known`),
          row('as known', asKnown, 'the same id, and the fields that were sent'),
          row('recreated', recreated, 'another id than the ledger has'),
          row('altered', altered, 'the same id, other fields than were sent'),
          row('rejected', rejected),
          unsent > 0 && row('unsent', unsent),
          row('requests', totals.requests),
        ]),
      ),
    ],
  };
}

/** What a verification found, in one sentence, and what its sample proves about all known records. */
export function verificationHeadline(
  found: Verification,
  { resource, status }: Pick<Run, 'resource' | 'status'>,
): { readonly sentence: string; readonly explanation: readonly string[] } {
  const judged = judgedOf(found);
  const ended = status === 'done' ? '' : `${status === 'interrupted' ? 'Interrupted' : 'Failed'}. `;
  if (judged === 0)
    return { sentence: `${ended}No answer shows which records the store still has.`, explanation: [] };
  const lost = forgotten(found);
  const of = counted(judged, resourceNoun(resource));
  const otherIds = resource === 'contacts' ? '' : ', or had another id there';
  const gone =
    lost === 0
      ? 'none was missing from the store'
      : `${grouped(lost)} ${wasOrWere(lost)} missing from the store${otherIds}`;
  return { sentence: `${ended}Of ${of} sent again, ${gone}.`, explanation: [shareSentence(found, resource)] };
}

/** How many answers show whether the store still has the record. */
function judgedOf({ asKnown, altered, recreated, missing }: Verification) {
  return asKnown + altered + recreated + missing;
}

/** The conclusion from the sample about all known records. */
function shareSentence(found: Verification, resource: Run['resource']) {
  const { known, forgottenShare: share } = found;
  const all = counted(known, `known ${resourceNoun(resource)}`);
  if (judgedOf(found) === known) return `These were all ${all}: the figure is exact.`;
  const bound = (part: number) =>
    `${grouped(Math.round(part * known))} (${formatShare(part * known, known)})`;
  const at = 'With 95% confidence';
  if (forgotten(found) === 0) return `${at} at most ${bound(share.high)} of all ${all} are missing.`;
  if (share.high === 1) return `${at} at least ${bound(share.low)} of all ${all} are missing.`;
  return `${at} between ${bound(share.low)} and ${bound(share.high)} of all ${all} are missing.`;
}

/** Notes for the reader of the figures, one sentence each. */
export function verificationNotes(found: Verification, resource: Run['resource']): string[] {
  const { altered, alteredFields, missing, rejected, notComparable } = found;
  const things = `${resourceNoun(resource)}s`;
  const fields = alteredFields
    .slice(0, ALTERED_NAMED)
    .map(({ field, records }) => `${field} (${grouped(records)})`);
  const more = alteredFields.length > ALTERED_NAMED ? ' and others' : '';
  return withoutAbsent([
    altered > 0 &&
      `${counted(altered, 'answer')} ${altered === 1 ? 'has' : 'have'} other values than were sent: ${listed(fields)}${more}. The store changes or ignores these values; sending them again does not help.`,
    missing > 0 &&
      `${counted(missing, 'contact')} not found: the API cannot create contacts. Create them in the store and correct their ids in the crosswalk.`,
    rejected > missing &&
      `${counted(rejected - missing, 'record')} refused for another reason; this does not show whether the store still has them.`,
    notComparable > 0 &&
      `${counted(notComparable, `further ${resourceNoun(resource)}`)} of this job cannot be verified, because they are in doubt or have no id. The next run sends records in doubt again.`,
    `A verification sends ${things} with their values, so it cannot show whether the store had older values${resource === 'contacts' ? '' : `, or whether deleted ${things} are in the store again`}. After a restore, always run the job with --resend.`,
  ]);
}
