import { withoutAbsent } from '../../model/json-object.ts';
import { type Drift, hasDrifted, type Run } from '../../model/run.ts';
import { counted, grouped, listed, resourceNoun, wasOrWere } from '../../text/printable.ts';
import type { RunFacts, View } from '../run-facts.ts';
import { type Block, foreign, paragraph, type Section, styled, table, type Words } from '../section.ts';

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
  const row = (name: string, figure: number, note: Words = ''): Words[] => [name, grouped(figure), note];
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

function fieldWords(byField: Drift['byField']): string {
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
      more: (left) => `and ${grouped(left)} more`,
    }),
  ];
}

function notesOf({ by, notComparable, checked, known, slice, accepted }: Drift, { resource }: Run): string[] {
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

function sliceWords({ number, of, parts }: NonNullable<Drift['slice']>): string {
  const names = Array.from({ length: parts }, (_, index) => grouped(((number + index) % of) + 1));
  return `${parts === 1 ? 'part' : 'parts'} ${listed(names)}`;
}

/** What a comparison has found, in one sentence. */
export function driftHeadline(
  drift: Drift,
  { resource }: Pick<Run, 'resource'>,
): { readonly sentence: string; readonly explanation: readonly string[] } {
  const { checked, edited, fields, deleted, recreated } = drift;
  const of = counted(checked, resourceNoun(resource));
  if (!hasDrifted(drift))
    return { sentence: `Of ${of}, all are as the store last answered them.`, explanation: [] };
  const parts = withoutAbsent([
    edited > 0 && `${grouped(edited)} ${wasOrWere(edited)} edited (${counted(fields, 'field')})`,
    deleted > 0 && `${grouped(deleted)} ${wasOrWere(deleted)} deleted`,
    recreated > 0 && `${grouped(recreated)} ${wasOrWere(recreated)} made again under another id`,
  ]);
  return { sentence: `Of ${of}, ${listed(parts)} in the store.`, explanation: [] };
}
