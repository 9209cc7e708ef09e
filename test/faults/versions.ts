import { setTimeout as sleep } from 'node:timers/promises';
import { type CatalogProduct, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { patience } from '../support/pace.ts';
import type { Misbehaviour } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import type { CommandResult } from '../support/workspace.ts';
import { wrongIn } from './books.ts';
import { kill, type Scene } from './scene.ts';

/** Of `SceneOptions`: state in Redis whose locks outlive a killed process for as long as a busy machine needs. */
export const ON_REDIS = { redis: true, env: { STOREFERRY_LEASE_MS: String(patience(5_000)) } } as const;

/** The same products at other prices. */
export function versionOf(count: number, version: number): CatalogProduct[] {
  return manyProducts(count).map((product) => ({ ...product, price: `${100 + 10 * version}.00` }));
}

/**
 * Has the job `nightly`, or another, read these products and waits until the run has ended; begins again while the lock
 * of a killed process lasts.
 */
export async function runWith(
  scene: Scene,
  products: readonly CatalogProduct[],
  ...args: readonly string[]
): Promise<CommandResult> {
  await scene.workspace.write('catalog.csv', shopifyCatalog(products));
  const command = args.length === 0 ? ['run', 'nightly'] : args;
  for (;;) {
    const ended = await scene.storeferry(...command, '--json');
    if (!ended.stderr.includes('is already running')) return ended;
    await sleep(500);
  }
}

/** The store takes what it is sent, and its answer never comes. */
const answerWithheld: Misbehaviour = { kind: 'hang', applied: true };

/** Starts a run with these products and kills it when the store holds some of them, before any answer. */
export async function killWithProductsOnTheWay(
  scene: Scene,
  products: readonly CatalogProduct[],
): Promise<void> {
  const { store, workspace } = scene;
  await workspace.write('catalog.csv', shopifyCatalog(products));
  store.misbehave({ name: 'answer withheld', does: answerWithheld });
  const running = scene.start('run', 'nightly', '--json');
  const least = wrongIn(store, products);
  await until(() => wrongIn(store, products) < least);
  await kill(running);
  store.behave();
  scene.count('SIGKILL while answers were on their way');
}
