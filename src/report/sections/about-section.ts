import { lastedMs } from '../../model/run.ts';
import { formatDuration, formatMoment, grouped, sampleFlags } from '../../text/printable.ts';
import type { RunFacts, View } from '../run-facts.ts';
import { foreign, type Section, type Words } from '../section.ts';

/** Times, store, version. */
export function aboutSection(facts: RunFacts, view: View): Section {
  const terms = termsOf(facts, view).flatMap(([name, value]) =>
    value === null ? [] : ([[name, value]] as const),
  );
  return { id: 'about', title: 'About this run', only: 'page', blocks: [{ kind: 'terms', terms }] };
}

function termsOf({ run, totals }: RunFacts, { now, version }: View): [name: string, value: Words][] {
  const isOver = run.finishedAt !== null;
  return [
    ['Run', [{ as: 'code', words: foreign(run.id) }, ' (', kindWords(run), ')']],
    ['Job', foreign(run.job)],
    ['Store', [foreign(run.store), ', ', foreign(run.baseUrl, 200)]],
    ['Started', formatMoment(run.startedAt)],
    ['Source read', run.stagedAt === null || run.kind === 'export' ? null : formatMoment(run.stagedAt)],
    ['Ended', run.finishedAt === null ? 'not yet' : formatMoment(run.finishedAt)],
    [isOver ? 'Duration' : 'Duration so far', formatDuration(lastedMs(run, now))],
    ['Requests', grouped(totals.requests)],
    ['Approved', run.approved ? 'yes, by a person' : null],
    ['Resend', run.resend ? 'unchanged records too' : null],
    ['Sample', run.sample === undefined ? null : { as: 'code', words: foreign(sampleFlags(run.sample)) }],
    ['Storeferry', foreign(version)],
    ['Report written', formatMoment(now)],
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
};

function kindWords({ kind, retryOf, undo, release, restore }: RunFacts['run']): Words {
  const of = undo?.of ?? release?.of ?? restore?.of ?? retryOf;
  const name =
    restore !== undefined
      ? 'restore after comparison'
      : KINDS[undo !== undefined ? 'undo' : release !== undefined ? 'release' : kind];
  return of === null ? name : [`${name} of `, { as: 'code', words: foreign(of) }];
}
