import { describe, expect, it } from 'vitest';
import { INDEXED_AT_ONCE } from '../../src/state/product-handle.ts';
import { IN_DOUBT } from '../../src/state/state.ts';
import type { Opening } from './child.ts';
import {
  applied,
  bodyOf,
  deletion,
  range,
  rejected,
  sampleRun,
  TARGET,
  unsent,
  updateContact,
  upsert,
} from './samples.ts';
import { collected, twoProcesses } from './two-processes.ts';

/** What a ledger promises, however it is kept. */
export function describeLedger(fresh: () => Promise<Opening>): void {
  describe('the ledger', () => {
    const processes = twoProcesses(fresh);

    it('knows nothing that was never acknowledged', async () => {
      const ledger = processes.state.ledger(TARGET);
      expect(await ledger.marks(['shirt', 'hat'])).toEqual([undefined, undefined]);
      expect(await ledger.bodies(['shirt'])).toEqual([undefined]);
      expect(await ledger.marks([])).toEqual([]);
      expect(await ledger.count('nightly')).toBe(0);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([]);
    });

    it('gives what was acknowledged, in the order asked for, to every process at once', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(
        run,
        1,
        [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), null)],
        2,
      );
      const ledger = processes.other.ledger(TARGET);
      const shirt = { fingerprint: 'print-of-shirt', id: 7, job: 'nightly' };
      const hat = { fingerprint: 'print-of-hat', id: null, job: 'nightly' };
      expect(await ledger.marks(['hat', 'coat', 'shirt', 'hat'])).toEqual([hat, undefined, shirt, hat]);
      expect(await ledger.bodies(['coat', 'shirt'])).toEqual([undefined, bodyOf('shirt', 'print-of-shirt')]);
    });

    it('keeps the last word on a key', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      for (const fingerprint of ['one', 'two', 'three']) {
        await processes.state.runs.record(run, 1, [applied(upsert(0, 'shirt', { fingerprint }), 7)], 1);
      }
      const ledger = processes.other.ledger(TARGET);
      expect(await ledger.marks(['shirt'])).toEqual([{ fingerprint: 'three', id: 7, job: 'nightly' }]);
      await processes.state.runs.record(run, 1, [applied(upsert(0, 'shirt', { fingerprint: 'four' }), 7)], 1);
      expect(await ledger.bodies(['shirt'])).toEqual([bodyOf('shirt', 'four')]);
      expect(await ledger.count('nightly')).toBe(1);
    });

    it('says only which marks are as expected, with memo and job, and gives the others', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const remembered = ['shirt', 'hat', 'coat'].map((key, index) =>
        applied(upsert(index, key, { memo: `memo-of-${key}` }), index),
      );
      await processes.state.runs.record(run, 1, [...remembered, applied(upsert(3, 'belt'), 9)], 4);
      const ledger = processes.other.ledger(TARGET);
      const keys = ['coat', 'nothing', 'shirt', 'belt', 'hat'];
      const memos = ['memo-of-coat', 'memo-of-nothing', 'another memo', 'memo-of-belt', null];
      const shirt = { fingerprint: 'print-of-shirt', id: 0, job: 'nightly', memo: 'memo-of-shirt' };
      const belt = { fingerprint: 'print-of-belt', id: 9, job: 'nightly' };
      const hat = { fingerprint: 'print-of-hat', id: 1, job: 'nightly', memo: 'memo-of-hat' };
      expect(await ledger.compare({ job: 'nightly', keys, memos })).toEqual([
        ...['same', undefined, shirt, belt, hat],
      ]);
      const coat = { fingerprint: 'print-of-coat', id: 2, job: 'nightly', memo: 'memo-of-coat' };
      expect(await ledger.compare({ job: 'another', keys: ['coat'], memos: ['memo-of-coat'] })).toEqual([
        coat,
      ]);
      expect(await ledger.compare({ job: 'nightly', keys: [], memos: [] })).toEqual([]);
    });

    it('compares very many keys at once, each with its own memo', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const keys = range(2_500).map((n) => `key ${n}`);
      const results = keys.map((key, n) => applied(upsert(n, key, { memo: `memo-${n}` }), n));
      for (const shard of [0, 1, 2, 3, 4]) {
        await processes.state.runs.record(run, shard, results.slice(shard * 500, shard * 500 + 500), 0);
      }
      const answers = await processes.other.ledger(TARGET).compare({
        ...{ job: 'nightly', keys },
        memos: keys.map((_, n) => (n === 1_700 ? 'memo-1701' : `memo-${n}`)),
      });
      expect(answers.flatMap((answer, n) => (answer === 'same' ? [] : [n]))).toEqual([1_700]);
    });

    it('is taught memos of marks that still have the fingerprint, and forgets them with a new body', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(
        run,
        1,
        [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), null)],
        2,
      );
      const ledger = processes.other.ledger(TARGET);
      await ledger.remember([
        { key: 'shirt', fingerprint: 'print-of-shirt', memo: 'm1' },
        { key: 'hat', fingerprint: 'another print', memo: 'm2' },
        { key: 'coat', fingerprint: 'print-of-coat', memo: 'm3' },
      ]);
      await ledger.remember([{ key: 'shirt', fingerprint: 'print-of-shirt', memo: 'm4' }]);
      expect(await processes.state.ledger(TARGET).marks(['shirt', 'hat', 'coat'])).toEqual([
        { fingerprint: 'print-of-shirt', id: 7, job: 'nightly', memo: 'm4' },
        { fingerprint: 'print-of-hat', id: null, job: 'nightly' },
        undefined,
      ]);
      expect(await ledger.bodies(['shirt'])).toEqual([bodyOf('shirt', 'print-of-shirt')]);
      expect(await ledger.count('nightly')).toBe(2);
      await processes.state.runs.record(run, 1, [applied(upsert(0, 'shirt', { fingerprint: 'new' }), 7)], 1);
      expect(await ledger.marks(['shirt'])).toEqual([{ fingerprint: 'new', id: 7, job: 'nightly' }]);
      expect(await ledger.count('nightly')).toBe(2);
    });

    it('puts marks in doubt, without memo, until they are acknowledged again', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const shirt = applied(upsert(0, 'shirt', { memo: 'm1' }), 7);
      const hat = applied(upsert(1, 'hat', { memo: 'm2' }), null);
      await processes.state.runs.record(run, 1, [shirt, hat], 2);
      const ledger = processes.other.ledger(TARGET);
      await using sending = await processes.state.sending({ run, attemptMs: 1_000 });
      await sending.begin([upsert(0, 'shirt'), upsert(2, 'coat')]);
      const mark = { fingerprint: IN_DOUBT, id: 7, job: 'nightly' };
      const question = { job: 'nightly', keys: ['shirt', 'coat', 'hat'], memos: ['m1', 'm3', 'm2'] };
      expect(await processes.state.ledger(TARGET).compare(question)).toEqual([mark, undefined, 'same']);
      expect(await ledger.bodies(['shirt'])).toEqual([bodyOf('shirt', 'print-of-shirt')]);
      expect(await ledger.count('nightly')).toBe(2);
      await ledger.remember([{ key: 'shirt', fingerprint: 'print-of-shirt', memo: 'm1' }]);
      expect(await ledger.marks(['shirt'])).toEqual([mark]);
      await processes.state.runs.record(run, 1, [shirt], 1);
      expect(await ledger.compare(question)).toEqual(['same', undefined, 'same']);
    });

    it('learns nothing from rejected and unsent operations', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(run, 1, [rejected(upsert(0, 'shirt')), unsent(upsert(1, 'hat'))], 2);
      expect(await processes.state.ledger(TARGET).marks(['shirt', 'hat'])).toEqual([undefined, undefined]);
    });

    it('forgets a deleted key', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(
        run,
        1,
        [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8)],
        2,
      );
      await processes.state.runs.record(run, 2, [applied(deletion(0, 'shirt', 7), null)], 1);
      const ledger = processes.state.ledger(TARGET);
      expect((await ledger.marks(['shirt', 'hat'])).map((mark) => mark?.id)).toEqual([undefined, 8]);
      expect(await ledger.bodies(['shirt'])).toEqual([undefined]);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'hat', id: 8 }]);
    });

    it('keeps the known id when an answer has none', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(run, 1, [applied(upsert(0, 'shirt', { knownId: 7 }), null)], 1);
      expect((await processes.state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(7);
    });

    it('counts a key for the job that last sent it', async () => {
      const nightly = sampleRun();
      const weekly = sampleRun({ id: 'run-2', job: 'weekly' });
      await processes.state.runs.create(nightly);
      await processes.state.runs.create(weekly);
      await processes.state.runs.record(
        nightly,
        1,
        [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8)],
        2,
      );
      await processes.state.runs.record(weekly, 1, [applied(upsert(0, 'shirt'), 7)], 1);
      const ledger = processes.state.ledger(TARGET);
      expect([await ledger.count('nightly'), await ledger.count('weekly')]).toEqual([1, 1]);
      expect(await collected(ledger.keysOf('weekly'))).toEqual([{ key: 'shirt', id: 7 }]);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'hat', id: 8 }]);
      expect((await ledger.marks(['shirt']))[0]?.job).toBe('weekly');
    });

    it('is one for each store and resource', async () => {
      const run = sampleRun();
      const contacts = sampleRun({ id: 'run-2', resource: 'contacts' });
      await processes.state.runs.create(run);
      await processes.state.runs.create(contacts);
      await processes.state.runs.record(run, 1, [applied(upsert(0, '41'), 7)], 1);
      await processes.state.runs.record(contacts, 1, [applied(updateContact(0, '41', 'of-contact'), 41)], 1);
      const ofContacts = processes.state.ledger({ ...TARGET, resource: 'contacts' });
      expect(await ofContacts.marks(['41'])).toEqual([{ fingerprint: 'of-contact', id: 41, job: 'nightly' }]);
      expect((await processes.state.ledger(TARGET).marks(['41']))[0]?.fingerprint).toBe('print-of-41');
      for (const storeId of ['//other.example', 'id:second']) {
        expect(await processes.state.ledger({ ...TARGET, storeId }).marks(['41'])).toEqual([undefined]);
      }
    });

    it('has a contact that was created under the answered id, and ends the doubt of its first key', async () => {
      const run = sampleRun({ resource: 'contacts' });
      await processes.state.runs.create(run);
      const target = { ...TARGET, resource: 'contacts' } as const;
      const created = { ...updateContact(0, 'new-0f'), kind: 'upsert-contact' } as const;
      await using sending = await processes.state.sending({ run, attemptMs: 1_000 });
      await sending.begin([created]);
      const ledger = processes.other.ledger(target);
      expect(await collected(ledger.unconfirmed('nightly'))).toEqual(['new-0f']);
      await processes.state.runs.record(run, 1, [applied(created, 41)], 1, undefined, 5);
      expect(await ledger.marks(['new-0f', '41'])).toEqual([
        undefined,
        { fingerprint: 'print-of-new-0f', id: 41, job: 'nightly' },
      ]);
      expect(await ledger.bodies(['41'])).toEqual([created.body]);
      expect(await ledger.hasDoubts()).toBe(false);
      const [versions = []] = await processes.other.history(target).versions(['41']);
      expect(versions.map(({ id, body }) => [id, body])).toEqual([[41, created.body]]);
    });

    it('gives each of many keys once', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const keys = range(2_500).map((number) => `product-${(number * 7919) % 2_500}`);
      for (let shard = 0; shard < 5; shard++) {
        const results = range(500).map((index) =>
          applied(upsert(index, keys[shard * 500 + index] ?? ''), index),
        );
        await processes.state.runs.record(run, shard, results, 500);
      }
      const ledger = processes.other.ledger(TARGET);
      const found = await collected(ledger.keysOf('nightly'));
      expect(found.map(({ key }) => key).sort()).toEqual([...keys].sort());
      expect(await ledger.count('nightly')).toBe(2_500);
      const marks = await ledger.marks(keys);
      expect(marks.map((mark) => mark?.fingerprint)).toEqual(keys.map((key) => `print-of-${key}`));
    });

    it('leaves a key with the job that an operation names as its owner', async () => {
      const { runs } = processes.state;
      const [catalog, stock] = [sampleRun({ id: 'a' }), sampleRun({ id: 'b', job: 'stock' })];
      for (const run of [catalog, stock]) await runs.create(run);
      await runs.record(catalog, 1, [applied(upsert(0, 'shirt'), 7)], 1);
      const changed = upsert(0, 'shirt', { fingerprint: 'two', knownId: 7, owner: 'nightly' });
      await runs.record(stock, 1, [applied(changed, 7)], 1);
      const ledger = processes.other.ledger(TARGET);
      expect(await ledger.marks(['shirt'])).toEqual([{ fingerprint: 'two', id: 7, job: 'nightly' }]);
      expect(await ledger.count('nightly')).toBe(1);
      expect(await ledger.count('stock')).toBe(0);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'shirt', id: 7 }]);
    });

    it('finds products by the SKUs and ids of what was acknowledged before and after it was first asked', async () => {
      const run = sampleRun();
      const { runs } = processes.state;
      await runs.create(run);
      const selling = (index: number, key: string, ...skus: readonly string[]) =>
        upsert(index, key, {
          fingerprint: `${key} ${skus.join()}`,
          body: JSON.stringify({ url: key, variants: skus.map((sku) => ({ options: [], sku })) }),
        });
      await runs.record(
        run,
        1,
        [
          applied(selling(0, 'shirt', 'S-1', 'S-2'), 7),
          applied(selling(1, 'hat', 'H', 'S-2', 'H'), 8),
          applied(upsert(2, 'bag'), null),
        ],
        3,
      );
      const ledger = processes.other.ledger(TARGET);
      expect(await ledger.keysBy('sku', ['S-2', 'none', 'S-1', 'H', 's-1'])).toEqual([
        ...[['hat', 'shirt'], [], ['shirt'], ['hat'], []],
      ]);
      expect(await ledger.keysBy('id', ['8', '9'])).toEqual([['hat'], []]);
      expect(await ledger.keysBy('sku', [])).toEqual([]);
      await runs.record(
        run,
        2,
        [
          applied(selling(0, 'shirt', 'S-3', 'S-1'), 9),
          applied(deletion(1, 'hat', 8), null),
          applied(selling(2, 'coat', 'S-2'), 10),
        ],
        3,
      );
      for (const asked of [ledger, processes.state.ledger(TARGET)]) {
        expect(await asked.keysBy('sku', ['S-1', 'S-2', 'S-3', 'H'])).toEqual([
          ...[['shirt'], ['coat'], ['shirt'], []],
        ]);
        expect(await asked.keysBy('id', ['7', '8', '9', '10'])).toEqual([[], [], ['shirt'], ['coat']]);
      }
    });

    it('finds products by parts of their keys and titles, and no others', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const titled = (index: number, key: string, title: string) =>
        applied(upsert(index, key, { body: JSON.stringify({ title, variants: [{ sku: 'oak' }] }) }));
      const results = [
        titled(0, 'table-1', 'Äpfel [50%] *new*'),
        titled(1, 'oak-bench', 'Bench'),
        titled(2, 'x', 'Of Oak'),
      ];
      await processes.state.runs.record(run, 1, results, 3);
      const ledger = processes.other.ledger(TARGET);
      const named = async (part: string, limit = 10) => [...(await ledger.keysNamed(part, limit))].sort();
      expect(await named('OAK')).toEqual(['oak-bench', 'x']);
      expect(await named('oak', 1)).toHaveLength(1);
      expect(await named('table', 1)).toEqual(['table-1']);
      expect(await named('oak')).toHaveLength(2);
      expect(await named('äpfel [50%] *')).toEqual(['table-1']);
      expect(await named('[5]')).toEqual([]);
      expect(await named('a*e')).toEqual([]);
      await processes.state.runs.record(
        run,
        2,
        [titled(0, 'x', 'Of pine'), applied(deletion(1, 'oak-bench', 1), null)],
        2,
      );
      expect(await named('oak')).toEqual([]);
      expect(await named('pine')).toEqual(['x']);
    });

    it('indexes more products than it reads at a time', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const count = 2 * INDEXED_AT_ONCE + 1;
      const results = range(count).map((index) =>
        applied(upsert(index, `p${index}`, { body: JSON.stringify({ variants: [{ sku: `S${index}` }] }) })),
      );
      await processes.state.runs.record(run, 1, results, count);
      const found = await processes.other.ledger(TARGET).keysBy(
        'sku',
        range(count).map((index) => `S${index}`),
      );
      expect(found).toEqual(range(count).map((index) => [`p${index}`]));
    });

    it('takes keys and bodies as they are', async () => {
      const run = sampleRun({ job: 'tägliche Änderung' });
      await processes.state.runs.create(run);
      const keys = [
        '',
        ' ',
        '__proto__',
        'кофта',
        '👕/ö',
        'a"b\\c',
        "it's",
        'line\nbreak',
        'nul\0inside',
        'x'.repeat(3_000),
        '\ud800',
      ];
      const results = keys.map((key, index) =>
        applied(upsert(index, key, { fingerprint: `print-${index}`, body: `body of ${key}` }), index),
      );
      await processes.state.runs.record(run, 1, results, keys.length);
      const ledger = processes.state.ledger(TARGET);
      expect((await ledger.marks(keys)).map((mark) => mark?.id)).toEqual(range(keys.length));
      const wellFormed = keys.map((key) => key.toWellFormed());
      expect(await ledger.bodies(keys)).toEqual(wellFormed.map((key) => `body of ${key}`));
      const found = await collected(ledger.keysOf('tägliche Änderung'));
      expect(found.map(({ key }) => key).sort()).toEqual(wellFormed.sort());
    });
  });
}
