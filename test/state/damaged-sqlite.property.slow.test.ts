import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { AS_ACKNOWLEDGED } from '../../src/model/observation.ts';
import type { Run } from '../../src/model/run.ts';
import { StateError } from '../../src/model/storeferry-error.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { Ledger, State } from '../../src/state/state.ts';
import { patience } from '../support/pace.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';
import { applied, deletion, range, rejected, sampleRun, TARGET, unsent, upsert } from './samples.ts';

const DAMAGES = 60;
const MOST_BITS = 48;
const KEYS = range(400).map((index) => `key-${index}`);

/** What each call may give, whatever lies in the file. */
const mark = z.object({ fingerprint: z.string(), id: z.int().nullable(), job: z.string() });
const marks = z.array(z.union([mark, z.literal('same'), z.undefined()]));
const tally = z.record(z.string(), z.int());
const run = z.object({ id: z.string(), job: z.string(), status: z.string(), startedAt: z.number() });
const reason = z.object({ code: z.string(), message: z.string() });
const refusals = z.array(z.array(z.object({ key: z.string(), spans: z.array(z.object()), reason })));

/** Two runs of one job, of which the second is not merged into the marks yet, and a third that was interrupted. */
async function fill(folder: string): Promise<void> {
  await using state = await openSqliteState(folder);
  for (const number of range(3)) {
    const of = sampleRun({ id: `run-${number}`, job: number === 2 ? 'other' : 'nightly' });
    await state.runs.create(of);
    const results = KEYS.map((key, index) => {
      const operation = upsert(index, key, { fingerprint: `${number}-of-${key}`, memo: `memo-${index % 7}` });
      if (index % 50 === 3) return rejected(operation);
      return index % 50 === 4 ? unsent(operation) : applied(operation);
    });
    await state.runs.record(of, 1, results.slice(0, 200), 200);
    await state.runs.record(of, 2, results.slice(200), 200);
    await state.runs.update(of.id, { status: 'done', finishedAt: 2_000 });
    if (number === 0) await state.ledger(TARGET).marks(KEYS);
  }
  await begun(state);
}

async function drained<Page>(pages: AsyncIterable<Page>): Promise<Page[]> {
  const all: Page[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

/** Begins to send some products and to delete one, and is killed there as far as the state knows. */
async function begun(state: State): Promise<unknown> {
  await using sending = await state.sending({ run: sampleRun({ id: 'run-2' }), attemptMs: 1_000 });
  const upserts = KEYS.slice(0, 20).map((key, index) => upsert(index, key));
  return await sending.begin([...upserts, deletion(20, 'key-20', 120)]);
}

/** What the answer must be like, and the call. */
type Call = readonly [schema: z.ZodType, ask: () => Promise<unknown>];

/** Everything that can be asked of a ledger. */
function ledgerCalls(ledger: Ledger, run: Run): Readonly<Record<keyof Ledger, Call>> {
  const memos = KEYS.map((_, index) => `memo-${index % 7}`);
  const observation = z.object({ altered: z.object(), edited: z.object() });
  const observed = KEYS.map((key) => ({ key, fingerprint: `1-of-${key}`, observation: AS_ACKNOWLEDGED }));
  const keyed = z.object({ key: z.string() });
  return {
    marks: [marks, () => ledger.marks(KEYS)],
    compare: [marks, () => ledger.compare({ keys: KEYS, memos, job: 'nightly' })],
    bodies: [z.array(z.string().optional()), () => ledger.bodies(KEYS)],
    views: [
      z.array(z.object({ observation: observation.optional(), doubted: z.array(z.string()).nullable() })),
      () => ledger.views(KEYS),
    ],
    edited: [z.array(z.array(keyed.extend({ observation }))), () => drained(ledger.edited())],
    keysBy: [z.array(z.array(z.string())), () => ledger.keysBy('id', ['7', '107'])],
    keysNamed: [z.array(z.string()), () => ledger.keysNamed('key-1', 20)],
    allBodies: [z.array(z.array(keyed.extend({ body: z.string() }))), () => drained(ledger.allBodies())],
    count: [z.int(), () => ledger.count('nightly')],
    keysOf: [z.array(z.array(keyed)), () => drained(ledger.keysOf('nightly'))],
    sharedIds: [z.map(z.int(), z.array(z.string())), () => ledger.sharedIds(new Set([7, 107]))],
    unconfirmed: [z.array(z.array(z.string())), () => drained(ledger.unconfirmed('nightly'))],
    doubtedOnlyBy: [z.set(z.string()), () => ledger.doubtedOnlyBy('nightly', KEYS)],
    position: [z.string(), () => ledger.position()],
    writtenSince: [z.set(z.string()), async () => ledger.writtenSince(await ledger.position(), KEYS)],
    hasDoubts: [z.boolean(), () => ledger.hasDoubts()],
    lostSince: [z.boolean(), () => ledger.lostSince(run)],
    remember: [
      z.undefined(),
      () => ledger.remember(KEYS.map((key) => ({ key, fingerprint: `1-of-${key}`, memo: 'memo' }))),
    ],
    observe: [z.undefined(), () => ledger.observe(observed)],
    proveIdsAgain: [z.undefined(), () => ledger.proveIdsAgain()],
    confirm: [z.undefined(), () => ledger.confirm(KEYS.slice(30, 40))],
    forget: [z.boolean(), () => ledger.forget('key-30')],
    reconcile: [z.object({ keys: z.int() }).nullable(), () => ledger.reconcile()],
  };
}

/** All of that, and what can be asked of runs. */
function calls(state: State): readonly (readonly [name: string, ...call: Call])[] {
  const { runs } = state;
  const ledger = state.ledger(TARGET);
  const next = sampleRun({ id: 'run-next' });
  return [
    ['list', z.array(run), () => runs.list({})],
    ['list of a job', z.array(run), () => runs.list({ job: 'nightly', statuses: ['done'], limit: 1 })],
    ['get', run.optional(), () => runs.get('run-1')],
    ['tally', tally, () => runs.tally('run-1')],
    ['outcomes', z.map(z.int(), z.string()), () => runs.outcomes('run-1', 1)],
    ['refusals', refusals, () => drained(runs.refusals('run-1'))],
    ['unsentReasons', z.array(z.object({ reason, count: z.int() })), () => runs.unsentReasons('run-1')],
    ['changedIds', z.array(z.object({ key: z.string() })), () => runs.changedIds('run-1', 20)],
    ...Object.entries(ledgerCalls(ledger, next)).map(([name, call]) => [name, ...call] as const),
    ['update', run, () => runs.update('run-2', { error: 'changed' })],
    ['begin', z.object({ waitMs: z.array(z.number()), overtaken: z.array(z.boolean()) }), () => begun(state)],
    ['create', z.undefined(), () => runs.create(next)],
    [
      'record',
      z.undefined(),
      () =>
        runs.record(
          next,
          1,
          KEYS.map((key, index) => applied(upsert(index, key))),
          400,
        ),
    ],
    ['marks after', marks, () => ledger.marks(KEYS)],
    ['remove', z.undefined(), () => runs.remove('run-0')],
  ];
}

it('says that a database with flipped bits is damaged, or gives what a sound one could give', {
  timeout: patience(300_000),
}, async (context) => {
  const random = seededRandom(seedOf(context));
  const root = await mkdtemp(join(tmpdir(), 'storeferry-damage-'));
  try {
    const sound = join(root, 'sound');
    await fill(sound);
    const bytes = await readFile(join(sound, 'state.db'));
    let refused = 0;
    for (const number of range(DAMAGES)) {
      const folder = join(root, `${number}`);
      await cp(sound, folder, { recursive: true });
      const damaged = Buffer.from(bytes);
      for (const _ of range(1 + Math.floor(random() * MOST_BITS))) {
        const at = Math.floor(random() * damaged.length);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      }
      await writeFile(join(folder, 'state.db'), damaged);
      const found = await askEverything(folder, number % 2 === 1);
      expect({ number, unexpected: found.unexpected }).toEqual({ number, unexpected: [] });
      refused += found.refused;
      await rm(folder, { recursive: true });
    }
    expect(refused).toBeGreaterThan(0);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

async function askEverything(
  folder: string,
  withoutThread: boolean,
): Promise<{ readonly refused: number; readonly unexpected: string[] }> {
  const unexpected: string[] = [];
  let refused = 0;
  const judge = (name: string, error: unknown): void => {
    refused++;
    if (error instanceof StateError && error.hint !== undefined) return;
    unexpected.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };
  let state: State;
  try {
    state = await openSqliteState(folder, { withoutThread });
  } catch (error) {
    judge('open', error);
    return { refused, unexpected };
  }
  await using _opened = state;
  for (const [name, schema, ask] of calls(state)) {
    try {
      const answer = await ask();
      const { error } = schema.safeParse(answer);
      if (error !== undefined) unexpected.push(`${name}: ${error.message}`);
    } catch (error) {
      judge(name, error);
    }
  }
  return { refused, unexpected };
}
