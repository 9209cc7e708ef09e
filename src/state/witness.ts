import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { StateLoss } from '../model/run.ts';
import type { Artifacts, RewrittenFile, RunFolder } from './artifacts.ts';
import { targetTag } from './lock-names.ts';
import { rewrittenWhole } from './rewritten-file.ts';
import { type BeatMoment, LEASE_MS, presentBeat, remainingMs } from './sender-time.ts';
import type { LedgerTarget } from './state.ts';

/** How far a state has come: each group of keys that is put in doubt makes the value of its target one higher. */
export interface Serial {
  /** Random, made with the state: another one means another state. */
  readonly lineage: string;
  readonly value: number;
}

/** What a process that sends, or has sent, keeps beside the state about one target. */
export interface Witness extends BeatMoment {
  readonly serial: Serial;
  /** From the moment on: until its last request must be over. */
  readonly lastsMs: number;
  /** The process has noticed that the state lost something of what it had written. */
  readonly lossSeen?: boolean | undefined;
}

/** How long requests of a process may last of which nothing is known; longer than any sensible `timeoutSeconds`. */
const UNKNOWN_LASTS_MS = 120_000;

/** Where witnesses lie: a folder of the artifacts that is no run's. */
const WITNESS_FOLDER = 'sent';

const schema = z.object({
  serial: z.object({ lineage: z.string(), value: z.int().nonnegative() }),
  wallMs: z.number(),
  bootMs: z.number(),
  lastsMs: z.number().nonnegative(),
  lossSeen: z.boolean().optional(),
  writes: z.int().default(0),
});

/**
 * The witness of one process about one target. A state that is restored from a copy, or loses its last moments, cannot
 * know it: so its serial is written a second time, to the artifacts, after the state and before anything of the group is
 * sent. Each process has a file of its own, so that none writes over another's.
 */
export class WitnessFile {
  readonly #folder: RunFolder;
  readonly #prefix: string;
  readonly #name: string;
  readonly #file: RewrittenFile;
  readonly #lossName: string;
  #serial: Serial | null = null;
  #lastsMs = 0;
  #writing: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;
  #writes = 0;

  /** `tag` names the target, `process` the process; both fit for file names. */
  constructor(folder: RunFolder, tag: string, process: string) {
    this.#folder = folder;
    this.#prefix = `${tag}.`;
    this.#name = `${this.#prefix}${process}.json`;
    this.#file = folder.rewritten?.(this.#name) ?? rewrittenWhole(folder, this.#name);
    this.#lossName = `${this.#prefix}${process}-loss.json`;
  }

  /**
   * What all processes have left about the target. A damaged file may have said that the state is behind, so it says it
   * now. StateError when none can be read.
   */
  async all(): Promise<readonly Witness[]> {
    for (;;) {
      const found = await this.#read();
      // What another process removed meanwhile stands in a file of its own by now.
      if (!found.some(({ witness }) => witness === 'gone')) {
        return found.flatMap(({ witness }) => {
          if (witness === 'gone') return [];
          return [witness === 'damaged' ? damagedWitness() : witness];
        });
      }
    }
  }

  async #read(): Promise<
    readonly { readonly name: string; readonly witness: Witness | 'damaged' | 'gone' }[]
  > {
    const names = (await this.#folder.list()).filter((name) => name.startsWith(this.#prefix));
    return await Promise.all(
      names.map(async (name) => {
        try {
          const witness = parsed(await text(await this.#folder.read(name)));
          return { name, witness: witness ?? ('damaged' as const) };
        } catch (error) {
          if (await this.#folder.exists(name)) throw error;
          return { name, witness: 'gone' as const };
        }
      }),
    );
  }

  /**
   * Removes what processes that are long over have left and the file of this one says as well: otherwise there would be
   * one file more for each run there ever was.
   */
  async #sweep(): Promise<void> {
    const own = this.#serial;
    if (own === null) return;
    const now = presentBeat();
    const isOver = (witness: Witness): boolean =>
      witness.lossSeen !== true &&
      witness.serial.lineage === own.lineage &&
      witness.serial.value <= own.value &&
      remainingMs(witness, witness.lastsMs, now) === 0;
    const over = (await this.#read()).filter(
      ({ name, witness }) => name !== this.#name && typeof witness === 'object' && isOver(witness),
    );
    await this.#folder.remove(over.map(({ name }) => name));
  }

  /**
   * Resolves when the serial, or a later one, is written, and that requests may begin until two seconds from now and last
   * `attemptMs`.
   */
  async serial(serial: Serial, attemptMs = 0): Promise<void> {
    this.#lastsMs = Math.max(this.#lastsMs, LEASE_MS + attemptMs);
    const isFirst = this.#serial === null;
    if (
      this.#serial === null ||
      serial.lineage !== this.#serial.lineage ||
      serial.value > this.#serial.value
    ) {
      this.#serial = serial;
    }
    await this.#write();
    // What stays behind costs a file more to read.
    if (isFirst) await this.#sweep().catch(() => {});
  }

  /** Resolves when it is written that requests may begin until two seconds from now. */
  beat(): Promise<void> {
    return this.#serial === null ? Promise.resolve() : this.#write();
  }

  /**
   * Writes down that the state has lost something while it was at work, in a file that is not written over: by its serial
   * alone the state may have caught up when it is next compared.
   */
  async noteLoss(given: Serial, attemptMs: number): Promise<void> {
    const serial = this.#serial ?? given;
    const lastsMs = Math.max(this.#lastsMs, LEASE_MS + attemptMs);
    const content = { serial, ...presentBeat(), lastsMs, lossSeen: true };
    await this.#folder.write(this.#lossName, [JSON.stringify(content)]);
  }

  /**
   * Once the state knows what these witnesses say: writes the serial it goes on with, lasting as long as any of theirs, and
   * removes the others' files.
   */
  async replaceOthers(serial: Serial, witnesses: readonly Witness[]): Promise<void> {
    const now = presentBeat();
    const leftMs = witnesses.map((witness) => remainingMs(witness, witness.lastsMs, now));
    await this.serial(serial, Math.max(0, ...leftMs));
    const names = (await this.#folder.list()).filter((name) => name.startsWith(this.#prefix));
    await this.#folder.remove(names.filter((name) => name !== this.#name));
  }

  /** Nothing is sent for the time being; the next write opens the file again. */
  close(): Promise<void> {
    return this.#next(() => this.#file.close());
  }

  /** What is asked for while a write is under way shares the next. */
  #write(): Promise<void> {
    this.#queued ??= this.#next(async () => {
      this.#queued = null;
      const content = {
        ...{ serial: this.#serial, ...presentBeat(), lastsMs: this.#lastsMs },
        writes: ++this.#writes,
      };
      await this.#file.write(JSON.stringify(content));
    });
    return this.#queued;
  }

  /** One after another. */
  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }
}

/** The witnesses of this process, one a target. */
export interface WitnessFiles {
  /** A name that no other process has. */
  readonly process: string;
  of(target: LedgerTarget): WitnessFile;
}

/** The witness files of this process among the artifacts. */
export function witnessFiles(artifacts: Artifacts): WitnessFiles {
  const process = randomUUID();
  const folder = artifacts.run(WITNESS_FOLDER);
  const files = new Map<string, WitnessFile>();
  return {
    process,
    of(target) {
      const tag = targetTag(target).replaceAll(/[{}]/g, '');
      const file = files.get(tag) ?? new WitnessFile(folder, tag, process);
      files.set(tag, file);
      return file;
    },
  };
}

/** Stands for a file that cannot be read: the state may have lost anything, and requests may be under way. */
function damagedWitness(): Witness {
  return { serial: { lineage: '', value: 0 }, ...presentBeat(), lastsMs: UNKNOWN_LASTS_MS, lossSeen: true };
}

/** The last line that was written whole. */
function parsed(text: string): Witness | undefined {
  const lines = text.split('\n').flatMap((line) => {
    try {
      return [schema.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
  return lines.sort((one, other) => one.writes - other.writes).at(-1);
}

/** What a state with this serial lacks of what its witnesses have seen; null: nothing. */
export function lossOf(witnesses: readonly Witness[], known: Serial | null): StateLoss['kind'] | null {
  if (witnesses.length === 0) return known === null || known.value === 0 ? null : 'unwitnessed';
  if (witnesses.some(({ serial, lossSeen }) => !lossSeen && serial.lineage !== known?.lineage)) return 'lost';
  const isBehind = ({ serial, lossSeen }: Witness) => lossSeen === true || serial.value > (known?.value ?? 0);
  return witnesses.some(isBehind) ? 'behind' : null;
}
