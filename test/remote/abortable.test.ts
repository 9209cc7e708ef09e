import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { rejectOnAbort } from '../../src/model/clock.ts';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

function collectGarbage(): void {
  if (typeof collect !== 'function') throw new Error('no gc');
  collect();
}

it('gives what was awaited, or fails with the reason of the signal', async () => {
  const stop = new AbortController();
  expect(await rejectOnAbort(Promise.resolve(1), stop.signal)).toBe(1);
  await expect(rejectOnAbort(Promise.reject(new Error('no')), stop.signal)).rejects.toThrow('no');
  const waiting = rejectOnAbort(new Promise(() => {}), stop.signal);
  stop.abort(new Error('stop'));
  await expect(waiting).rejects.toThrow('stop');
  // Also where the awaited fails afterwards, which nobody else would notice.
  await expect(rejectOnAbort(Promise.reject(new Error('no')), stop.signal)).rejects.toThrow('stop');
});

it('keeps nothing of many waits with one signal', async () => {
  const stop = new AbortController();
  const answers: WeakRef<object>[] = [];
  for (let wait = 0; wait < 100; wait++) {
    const answer = await rejectOnAbort(Promise.resolve({ rows: [wait] }), stop.signal);
    answers.push(new WeakRef(answer));
  }
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(answers.filter((answer) => answer.deref() !== undefined).length).toBeLessThan(3);
  stop.abort();
});
