import { describe, expect, it } from 'vitest';
import { type IsolationOptions, runIsolated } from '../../src/isolation/run-isolated.ts';
import { SourceError, TableChoiceError } from '../../src/model/storeferry-error.ts';

const REFUSED = (beyond: string) => new SourceError(`takes more than ${beyond}`);

function run(task: string, options: Partial<IsolationOptions> = {}) {
  const limits = { cpuMs: 60_000, heapMib: 512, refused: REFUSED };
  return runIsolated<unknown, unknown>(['tasks-thread', import.meta.url], task, { ...limits, ...options });
}

/** What a task gives: its items, then its result. */
async function all(task: string, options?: Partial<IsolationOptions>): Promise<readonly unknown[]> {
  const given: unknown[] = [];
  for (const running = run(task, options); ; ) {
    const { done, value } = await running.next();
    given.push(value);
    if (done === true) return given;
  }
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => 'no error',
    (error: unknown) => error,
  );
}

/** How often this thread could work on something else meanwhile. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 10);
  await work.catch(() => undefined);
  clearInterval(counting);
  return turns;
}

describe('a task in a thread', () => {
  it('is ended where it takes more time of the processor than its limit, and blocks nothing meanwhile', async () => {
    const work = all('loop', { cpuMs: 300 });
    expect(await turnsDuring(work)).toBeGreaterThan(5);
    await expect(work).rejects.toThrow(REFUSED('0 s of processor time'));
  });

  it('is ended where it takes more memory than its limit', async () => {
    await expect(all('hoard', { heapMib: 96 })).rejects.toThrow(REFUSED('96 MiB of memory'));
  });

  it.each(['loop', 'wait', 'count'])('is ended with the reason of a signal (%s)', async (task) => {
    const stop = new AbortController();
    const work = all(task, { signal: stop.signal });
    const reason = new SourceError('Interrupted.');
    setTimeout(() => stop.abort(reason), 100);
    expect(await errorOf(work)).toBe(reason);
    expect(await errorOf(all(task, { signal: stop.signal }))).toBe(reason);
  });

  it('reads content by its name, each time from its beginning, and closes what it does not read to its end', async () => {
    const closed: string[] = [];
    async function* open(part: string) {
      try {
        // A part of a larger memory, as small pieces of Node are.
        for (const length of [3, 5]) yield new Uint8Array(100).subarray(0, length);
      } finally {
        closed.push(part);
      }
    }
    expect(await all('lengths', { open })).toEqual(['a3', 'a5', 'b3', 'b5', 'a3', 'a5', 'all']);
    expect(closed).toEqual(['a', 'b', 'a', 'b']);
  });

  it('ends with the error of content that cannot be read', async () => {
    const reason = new SourceError('The zip is damaged.');
    const open = () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) });
    expect(await errorOf(all('lengths', { open }))).toBe(reason);
  });

  it('throws its errors here, with their class, place and advice; others are bugs', async () => {
    const error = await errorOf(all('refuse'));
    expect(error).toBeInstanceOf(TableChoiceError);
    const candidates = [{ value: 'S', records: 3 }];
    const place = { file: 'a.xlsx', line: 2 };
    expect(error).toMatchObject({ message: 'Which one?', place, hint: 'Say.', candidates, code: 'source' });
    expect(await errorOf(all('fail'))).toEqual(new Error('a fault'));
  });

  it('ends when nobody takes its items any more', async () => {
    const running = run('count');
    expect([await running.next(), await running.next()]).toEqual([
      { done: false, value: 0 },
      { done: false, value: 1 },
    ]);
    await running.return(undefined);
  });
});
