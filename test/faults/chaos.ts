import { expect, type TestContext } from 'vitest';
import { figure } from '../support/figure.ts';
import { atLeast, atMost, type Measure, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import type { Store } from '../support/store.ts';
import { type Audit, audit, type Books, nextBooks, refusal, STRANGER, wrongIn } from './books.ts';
import type { Mischief } from './mischief.ts';
import { SCALE } from './scale.ts';
import type { Scene } from './scene.ts';

const STRANGERS = 20;
/** How often a source is what it was before. */
const GOES_BACK = 0.25;

/** The job of every scene of chaos: a mirror that no safety limit stops. */
export const CHAOS_JOB = {
  mode: 'mirror',
  safety: '{ maxDeletes: off, maxRejects: off, minRows: off, maxPriceMoves: off }',
};

/** The fault after which no id is proven. */
export const WITNESSES_LOST = 'artifacts deleted';

/** Runs the job until it is through; gives its summary. */
type RunThrough = () => Promise<Readonly<Record<string, unknown>>>;

/**
 * Runs the job with one version of its source after the other while the mischief lasts, and a last time in calm; holds
 * what each run says against the store, and measures what must hold.
 */
export async function measureChaos(
  context: TestContext,
  scene: Scene,
  { books: first, runThrough, mischief }: ChaosParts,
): Promise<void> {
  const { store, workspace, random } = scene;
  const seed = seedOf(context);
  const audits: Audit[] = [];
  const sources: Books[] = [];
  const bad: string[] = [];
  const left: number[] = [];
  const until = performance.now() + SCALE.chaosMs;
  let books = first;
  let before = first;
  for (;;) {
    const isLast = performance.now() > until;
    if (isLast) await mischief.stop();
    await workspace.write('catalog.csv', books.csv);
    const summary = await runThrough();
    const found = await audit(books, store, workspace, summary);
    audits.push(found);
    sources.push(books);
    if (found.missing > 0 || found.unaccounted > 0) bad.push(evidence(found, summary, sources, store));
    // A mirror that was made to forget leaves what it no longer knows. Without its witnesses it knows its products and not
    // their ids: it leaves them, and counts them.
    const withoutIds = scene.fired()[WITNESSES_LOST] === undefined ? 0 : undeleted(summary);
    if (mischief.forgotten === 0) left.push(found.left - withoutIds);
    if (isLast) break;
    const next = random() < GOES_BACK ? before : nextBooks(books, random);
    if (next === before) scene.count('source goes back');
    before = books;
    books = next;
  }
  const further = await audit(books, store, workspace, await runThrough());

  expect(bad, `seed ${seed}`).toEqual([]);
  const fired = scene.fired();
  const worst = (part: keyof Audit) => Math.max(...audits.map((found) => found[part]));
  const { duplicates, maxOverlap } = store.figures();
  const strangers = [...store.shop.products.values()].filter(({ url = '' }) => url.startsWith(STRANGER));
  const of = (invariant: number, ...measured: readonly Measure[]) =>
    figure(context, { invariant, seed, fired, measured });
  of(
    1,
    atLeast(1, 'runs finished', audits.length),
    none('rows missing', worst('missing')),
    none('records unaccounted for', worst('unaccounted')),
    none('left in the store though deleted', Math.max(0, ...left)),
  );
  of(2, none('duplicates', duplicates));
  of(3, atMost(1, 'overlap', maxOverlap));
  of(6, none('rejections lost', worst('rejectionsLost')));
  of(9, none('rows missing', worst('missing')), none('duplicates', duplicates));
  of(24, none('leaks', (await scene.leaks()).length));
  of(29, none('false beliefs', Math.max(worst('missing'), further.missing)));
  of(30, none('strangers deleted', STRANGERS - strangers.length));
}

/** The products that a run counts as removed from the source and did not delete. */
function undeleted({ removed, deleted }: Readonly<Record<string, unknown>>): number {
  return Number(removed) - Number(deleted);
}

/** What to look at when a run does not add up: its summary, and the earlier source that the store is most like. */
function evidence(
  found: Audit,
  summary: Readonly<Record<string, unknown>>,
  sources: readonly Books[],
  store: Store,
): string {
  const wrong = sources.map(({ products }) => wrongIn(store, products));
  const like = wrong.indexOf(Math.min(...wrong));
  const about = { source: sources.length - 1, storeIsLikeSource: like, wrongThen: wrong[like], ...found };
  return JSON.stringify({ at: new Date().toISOString(), ...about, summary });
}

interface ChaosParts {
  readonly books: Books;
  readonly runThrough: RunThrough;
  readonly mischief: Mischief;
}

/** Products that a person has made in the store, and the refusals that are no fault. */
export function furnish({ store }: Scene): void {
  for (let number = 1; number <= STRANGERS; number++) {
    store.shop.insert({ title: `Made by hand ${number}`, url: `${STRANGER}${number}` });
  }
  store.misbehave(refusal(store.apiKey));
}
