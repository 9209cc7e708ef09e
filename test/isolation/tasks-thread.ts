import { setTimeout } from 'node:timers/promises';
import { serveIsolated } from '../../src/isolation/run-isolated.ts';
import { TableChoiceError } from '../../src/model/storeferry-error.ts';

/** Tasks of the tests, by name. */
const TASKS: Readonly<
  Record<string, (open: (part: string) => AsyncIterable<Uint8Array>) => AsyncGenerator | Promise<unknown>>
> = {
  async loop() {
    for (;;);
  },
  async hoard() {
    const hoard: unknown[] = [];
    for (;;) hoard.push({ number: hoard.length });
  },
  async *count() {
    for (let number = 0; ; number += 1) yield number;
  },
  async wait() {
    await setTimeout(3_600_000);
  },
  async *lengths(open) {
    for (const part of ['a', 'b', 'a']) for await (const chunk of open(part)) yield `${part}${chunk.length}`;
    for await (const _ of open('b')) break;
    return 'all';
  },
  async refuse() {
    const candidates = [{ value: 'S', records: 3 }];
    const choice = { key: 'sheet', candidates, likely: 'S' } as const;
    throw new TableChoiceError('Which one?', {
      ...choice,
      place: { file: 'a.xlsx', line: 2 },
      hint: 'Say.',
    });
  },
  async fail() {
    throw new RangeError('a fault');
  },
};

serveIsolated((name: string, open) => {
  const task = TASKS[name];
  if (task === undefined) throw new TypeError(`no task ${name}`);
  return task(open);
});
