import { sampleFlags } from '../../model/action.ts';
import { lastedMs, partOf } from '../../model/run.ts';
import { counted, formatBytes, formatDuration, formatMoment, grouped } from '../../text/printable.ts';
import type { RunFacts, View } from '../run-facts.ts';
import { foreign, type Section, styled, type Words } from '../section.ts';
import { kindOf, resourceNoun } from '../status-words.ts';

/** Times, store, version. */
export function aboutSection(facts: RunFacts, view: View): Section {
  const terms = termsOf(facts, view).flatMap(([name, value]) =>
    value === null ? [] : ([[name, value]] as const),
  );
  return { id: 'about', title: 'About this run', only: 'page', blocks: [{ kind: 'terms', terms }] };
}

function termsOf(
  { run, totals }: RunFacts,
  { now, version, timezone }: View,
): [name: string, value: Words][] {
  const moment = (at: number) => formatMoment(at, { timezone });
  const isOver = run.finishedAt !== null;
  return [
    ['Run', [styled('code', foreign(run.id)), ' (', kindWords(run), ')']],
    ['Job', foreign(run.job)],
    ['Store', [foreign(run.store), ', ', foreign(run.baseUrl, 200)]],
    ['Started', moment(run.startedAt)],
    ['Source read', run.stagedAt === null || run.kind === 'export' ? null : moment(run.stagedAt)],
    ['Ended', run.finishedAt === null ? 'not yet' : moment(run.finishedAt)],
    [isOver ? 'Duration' : 'Duration so far', formatDuration(lastedMs(run, now))],
    ['Requests', grouped(totals.requests)],
    ['Approved', run.approved && run.release === undefined ? 'yes, by a person' : null],
    ['Resend', run.resend ? 'unchanged records too' : null],
    ['Sample', run.sample === undefined ? null : styled('code', foreign(sampleFlags(run.sample)))],
    ['Storeferry', foreign(version)],
    ['Report written', moment(now)],
  ];
}

const KINDS: Readonly<Record<RunFacts['run']['kind'], string>> = {
  run: 'import',
  plan: 'plan only',
  retry: 'retry',
  export: 'export',
  verify: 'verification',
  drift: 'comparison with the store',
  undo: 'undo',
  release: 'release',
  copy: 'copy',
};

function kindWords(run: RunFacts['run']): Words {
  const { release, restore, retryOf, copy } = run;
  const of = partOf(run)?.of ?? restore?.of ?? retryOf;
  if (copy !== undefined && of === null) return ['clone of ', foreign(copy.store)];
  const name =
    restore !== undefined
      ? 'restore after comparison'
      : KINDS[release !== undefined ? 'release' : kindOf(run)];
  return of === null ? name : [`${name} of `, styled('code', foreign(of))];
}

/** How a file is written that nothing is added to. */
const WHOLE_FILE = { new: 'in a new file', replace: 'as the whole file' } as const;

/** What an export read and wrote; null for imports, and before the file is written. */
export function exportedSection(
  { run, totals, exported: file }: RunFacts,
  { timezone }: View,
): Section | null {
  if (file === null) return null;
  const { location, mode, begun, isTable, format, items, lines, bytes, readAt } = file;
  const at = formatMoment(Date.parse(readAt), { timezone });
  const how =
    mode === 'new' && bytes === 0
      ? 'because nothing is new or changed'
      : mode !== 'append'
        ? WHOLE_FILE[mode]
        : begun === true
          ? 'in a new file: none existed, or an empty one'
          : 'added to the file';
  const written =
    isTable === true
      ? `${counted(lines, 'row')}, ${begun === true ? 'in a new table' : 'added or updated'}`
      : `${counted(lines, 'line')}, ${how}`;
  return {
    id: 'export',
    title: 'What was written',
    blocks: [
      {
        kind: 'terms',
        terms: [
          // No file has this name: the notes name those that were written.
          ...(mode === 'new' && (bytes === 0 || run.since !== undefined)
            ? []
            : [[isTable === true ? 'Table' : 'File', styled('code', foreign(location, 300))] as const]),
          ['Read', `${counted(items, resourceNoun(run.resource))}, at ${at}`],
          ['Written', written],
          ...(isTable === true ? [] : [['Format', `${format}, ${formatBytes(bytes)} in all`] as const]),
          ['Requests', grouped(totals.requests)],
        ],
      },
    ],
  };
}
