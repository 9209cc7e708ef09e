import { afterEach, beforeEach } from 'vitest';
import type { State } from '../../src/state/state.ts';
import { type Opening, openAs } from './child.ts';

/** An empty state for each test, and the same state as another process would see it. */
export interface TwoProcesses {
  readonly opening: Opening;
  readonly state: State;
  readonly other: State;
}

/** Opens what `fresh` gives before each test of the surrounding `describe`, and closes it after. */
export function twoProcesses(fresh: () => Promise<Opening>): TwoProcesses {
  let opened: TwoProcesses | undefined;
  beforeEach(async () => {
    const opening = await fresh();
    const [state, other] = await Promise.all([openAs(opening), openAs(opening)]);
    opened = { opening, state, other };
  });
  afterEach(async () => {
    await opened?.state[Symbol.asyncDispose]();
    await opened?.other[Symbol.asyncDispose]();
  });
  const now = (): TwoProcesses => {
    if (opened === undefined) throw new Error('There is a state only within a test');
    return opened;
  };
  return {
    get opening() {
      return now().opening;
    },
    get state() {
      return now().state;
    },
    get other() {
      return now().other;
    },
  };
}

export async function collected<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) items.push(...batch);
  return items;
}
