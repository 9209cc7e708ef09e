import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { detectLoss, type Serial } from '../../src/state/serial.ts';
import { type WitnessFile, witnessFiles } from '../../src/state/witness-files.ts';

const TARGET = { storeId: 'http://store.example', resource: 'products' } as const;
const ATTEMPT_MS = 4_000;
const serial = (value: number, lineage = 'one'): Serial => ({ lineage, value });

/** Witnesses of as many processes as are asked for, in one folder. */
async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-witness-'));
  const sent = join(dir, 'sent');
  const opened: WitnessFile[] = [];
  return {
    process() {
      const witness = witnessFiles(folderArtifacts(dir)).of(TARGET);
      opened.push(witness);
      return witness;
    },
    files: async () => (await readdir(sent)).sort(),
    /** As if all that was written so far had been written a day and a start of the machine ago. */
    async age() {
      for (const name of await readdir(sent)) {
        const lines = (await readFile(join(sent, name), 'utf8')).trim().split('\n');
        const old = lines.map((line) => {
          const witness = JSON.parse(line);
          const wallMs = witness.wallMs - 86_400_000;
          return JSON.stringify({ ...witness, wallMs, bootMs: Number.MAX_SAFE_INTEGER });
        });
        await writeFile(join(sent, name), old.join('\n'));
      }
    },
    /** A power cut while the line at this place is written. */
    async tear(place: number) {
      for (const name of await readdir(sent)) {
        const lines = (await readFile(join(sent, name), 'utf8')).split('\n');
        lines[place] = `${(lines[place] ?? '').slice(0, 40).padEnd(511, '0')}`;
        await writeFile(join(sent, name), lines.join('\n'));
      }
    },
    async damage() {
      for (const name of await readdir(sent)) await writeFile(join(sent, name), '{"serial":');
    },
    async [Symbol.asyncDispose]() {
      for (const witness of opened) await witness.close();
      await rm(dir, { recursive: true });
    },
  };
}

describe('the witnesses of a state', () => {
  it('are as few as the processes at work, however many runs there were', async () => {
    await using folder = await openFolder();
    for (let run = 1; run <= 30; run++) {
      const witness = folder.process();
      await witness.serial(serial(run));
      expect(detectLoss(await witness.all(), serial(run))).toBeNull();
      await folder.age();
    }
    expect(await folder.files()).toHaveLength(1);
  });

  it('stay while requests of their process may be under way, and while they say more than the others', async () => {
    await using folder = await openFolder();
    const ahead = folder.process();
    await ahead.serial(serial(9));
    const elsewhere = folder.process();
    await elsewhere.serial(serial(1, 'other'));
    await folder.age();
    const dying = folder.process();
    await dying.serial(serial(3), ATTEMPT_MS);
    const later = folder.process();
    await later.serial(serial(4));
    expect(await folder.files()).toHaveLength(4);
    expect(detectLoss(await later.all(), serial(4))).toBe('lost');
  });

  it('say that a loss was seen, although the state has caught up since, until it is reconciled', async () => {
    await using folder = await openFolder();
    const witness = folder.process();
    await witness.serial(serial(5));
    await witness.noteLoss(serial(5), ATTEMPT_MS);
    await witness.serial(serial(7));
    await folder.age();
    const next = folder.process();
    await next.serial(serial(8));
    expect(detectLoss(await next.all(), serial(8))).toBe('behind');
    await next.replaceOthers(serial(8), await next.all());
    expect(detectLoss(await next.all(), serial(8))).toBeNull();
  });

  it('last as long as those they replace: the state may be lost again before requests of a dead process are over', async () => {
    await using folder = await openFolder();
    const dead = folder.process();
    await dead.serial(serial(5), ATTEMPT_MS);
    const next = folder.process();
    await next.replaceOthers(serial(1, 'other'), await next.all());
    const [left] = await next.all();
    expect(left?.serial.lineage).toBe('other');
    expect(left?.requestsEndWithinMs).toBeGreaterThan(ATTEMPT_MS);
  });

  it('are read whole while others remove theirs', async () => {
    await using folder = await openFolder();
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 4 }, (_, place) => folder.process().serial(serial(place + 1))));
      const reader = folder.process();
      await reader.serial(serial(5));
      const [found] = await Promise.all([reader.all(), folder.process().replaceOthers(serial(5), [])]);
      expect(detectLoss(found, serial(5))).not.toBe('lost');
      await reader.serial(serial(6));
    }
  });

  it('say that the state may be behind when one of them is damaged', async () => {
    await using folder = await openFolder();
    await folder.process().serial(serial(9));
    await folder.damage();
    const next = folder.process();
    await next.serial(serial(4));
    const found = await next.all();
    expect(detectLoss(found, serial(4))).toBe('behind');
    await next.replaceOthers(serial(5), found);
    expect(detectLoss(await next.all(), serial(5))).toBeNull();
  });

  it('are read by their last whole line, and written again when another process has removed them', async () => {
    await using folder = await openFolder();
    const witness = folder.process();
    for (let value = 1; value <= 4; value++) await witness.serial(serial(value));
    expect((await witness.all()).map((one) => one.serial.value)).toEqual([4]);
    await folder.tear(1);
    expect((await witness.all()).map((one) => one.serial.value)).toEqual([3]);
    await folder.process().replaceOthers(serial(3), []);
    await witness.serial(serial(5));
    expect((await witness.all()).map((one) => one.serial.value).sort()).toEqual([3, 5]);
    await witness.close();
    await witness.serial(serial(6));
    expect((await witness.all()).map((one) => one.serial.value).sort()).toEqual([3, 6]);
    await witness.close();
  });
});
