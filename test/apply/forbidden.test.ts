import { describe, expect, it } from 'vitest';
import { forbiddenRecords, MAX_CONSECUTIVE_FORBIDDEN } from '../../src/apply/stop-on.ts';

/** Records that are answered 403, and a store that is asked about the key. */
function setup(key: 'good' | 'wrong' = 'good') {
  const rejected: string[] = [];
  const gaveUp: unknown[] = [];
  let asked = 0;
  const answers: (() => void)[] = [];
  const held = forbiddenRecords<string>({
    confirmKey: async () => {
      asked++;
      await new Promise<void>((resolve) => answers.push(resolve));
      if (key === 'wrong') throw new Error('the key is wrong');
    },
    reject: (entry) => rejected.push(entry),
    giveUp: (error) => gaveUp.push(error),
    refused: () => new Error('the key is for reading only'),
  });
  const answer = async () => {
    for (const resolve of answers.splice(0)) resolve();
    await new Promise(setImmediate);
  };
  return { held, rejected, gaveUp, asked: () => asked, answer };
}

describe('records that are answered 403', () => {
  it('are rejected as soon as anything else is accepted', () => {
    const { held, rejected, gaveUp, asked } = setup();
    held.add('one');
    expect(rejected).toEqual([]);
    held.accepted();
    expect(rejected).toEqual(['one']);
    held.add('two');
    held.add('three');
    held.accepted();
    expect(rejected).toEqual(['one', 'two', 'three']);
    expect([asked(), gaveUp]).toEqual([0, []]);
  });

  it('ask once whether the key is good when the first three are, and are rejected at the end when it is', async () => {
    const { held, rejected, gaveUp, asked, answer } = setup();
    for (const entry of ['one', 'two']) held.add(entry);
    expect(asked()).toBe(0);
    for (const entry of ['three', 'four']) held.add(entry);
    expect(asked()).toBe(1);
    await answer();
    const finished = held.finish();
    await answer();
    await finished;
    expect(rejected).toEqual(['one', 'two', 'three', 'four']);
    expect([asked(), gaveUp]).toEqual([1, []]);
  });

  it('are about the key when it is wrong: the apply stops once, and nothing is rejected', async () => {
    const { held, rejected, gaveUp, asked, answer } = setup('wrong');
    for (const entry of ['one', 'two', 'three']) held.add(entry);
    await answer();
    held.add('four');
    held.accepted();
    const finished = held.finish();
    await answer();
    await finished;
    expect(rejected).toEqual([]);
    expect(gaveUp.map(String)).toEqual(['Error: the key is wrong']);
    expect(asked()).toBe(1);
  });

  it('are asked about at the end when nothing else was sent', async () => {
    const { held, rejected, asked, answer } = setup();
    held.add('only');
    const finished = held.finish();
    expect(asked()).toBe(1);
    await answer();
    await finished;
    expect(rejected).toEqual(['only']);
  });

  it('give up when very many come in a row, though the key may read', async () => {
    const { held, rejected, gaveUp, answer } = setup();
    held.accepted();
    for (let number = 0; number < MAX_CONSECUTIVE_FORBIDDEN - 1; number++) held.add(`${number}`);
    expect(gaveUp).toEqual([]);
    held.add('last');
    held.add('and one more');
    const finished = held.finish();
    await answer();
    await finished;
    expect(gaveUp.map(String)).toEqual(['Error: the key is for reading only']);
    expect(rejected).toEqual([]);
  });

  it('ask nothing when there are none', async () => {
    const { held, asked } = setup();
    held.accepted();
    await held.finish();
    expect(asked()).toBe(0);
  });
});
