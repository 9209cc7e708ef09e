import { lastedMs } from '../../model/run.ts';
import { sampleFlags } from '../../model/sample.ts';
import { formatDuration, formatMoment, grouped } from '../printable.ts';
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

function kindWords({ kind, retryOf, undo, release }: RunFacts['run']): Words {
  if (undo !== undefined) return ['undo of ', { as: 'code', words: foreign(undo.of) }];
  if (release !== undefined) return ['release of ', { as: 'code', words: foreign(release.of) }];
  switch (kind) {
    case 'undo':
    case 'release':
      return kind;
    case 'run':
      return 'import';
    case 'plan':
      return 'plan only';
    case 'retry':
      return retryOf === null ? 'retry' : ['retry of ', { as: 'code', words: foreign(retryOf) }];
    case 'export':
      return 'export';
    case 'verify':
      return 'verification';
    default:
      return kind satisfies never;
  }
}
