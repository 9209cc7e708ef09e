import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { parsedJson } from '../model/json-object.ts';
import type { StateLoss } from '../model/run.ts';
import type { Artifacts, RewrittenFile, RunFolder } from './artifacts.ts';
import { HEARTBEAT_VALID_MS, type Serial, type Witness } from './serial.ts';
import { type LedgerTarget, targetTag } from './state.ts';
import { presentStoredMoment, remainingMs } from './stored-moment.ts';

/** How long requests of an unknown process may run; longer than any sensible `timeoutSeconds`. */
const UNKNOWN_REQUESTS_END_WITHIN_MS = 120_000;

/** The location of witnesses: a folder of the artifacts that belongs to no run. */
const WITNESS_FOLDER = 'sent';

const schema = z
  .object({
    serial: z.object({ lineage: z.string(), value: z.int().nonnegative() }),
    wallMs: z.number(),
    bootMs: z.number(),
    lastsMs: z.number().nonnegative(),
    lossSeen: z.boolean().optional(),
    writes: z.int().default(0),
  })
  .transform(({ lastsMs, ...witness }) => ({ ...witness, requestsEndWithinMs: lastsMs }));

/**
 * The witness of one process about one target. A state that was restored from a copy, or lost its last writes, cannot
 * know that. So its serial is also written to the artifacts, after the state and before any request of the group.
 * Each process has its own file, so that none overwrites another's.
 */
export class WitnessFile {
  readonly #folder: RunFolder;
  readonly #prefix: string;
  readonly #name: string;
  readonly #file: RewrittenFile;
  readonly #lossName: string;
  #serial: Serial | null = null;
  #requestsEndWithinMs = 0;
  #writing: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;
  #writes = 0;

  /** `tag` names the target, `process` the process; both are valid in file names. */
  constructor(folder: RunFolder, tag: string, process: string) {
    this.#folder = folder;
    this.#prefix = `${tag}.`;
    this.#name = `${this.#prefix}${process}.json`;
    this.#file = folder.rewritten?.(this.#name) ?? rewrittenWhole(folder, this.#name);
    this.#lossName = `${this.#prefix}${process}-loss.json`;
  }

  /**
   * The witnesses of all processes about the target. A damaged file counts as a witness that the state is behind.
   * StateError if a file that exists cannot be read.
   */
  async all(): Promise<readonly Witness[]> {
    for (;;) {
      const found = await this.#read();
      // Another process has written their content to its own file before it removed them: read all again.
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

  /** Removes files of ended processes that add nothing to this one's; otherwise each run would leave a file. */
  async #sweep(): Promise<void> {
    const own = this.#serial;
    if (own === null) return;
    const now = presentStoredMoment();
    const isOver = (witness: Witness): boolean =>
      witness.lossSeen !== true &&
      witness.serial.lineage === own.lineage &&
      witness.serial.value <= own.value &&
      remainingMs(witness, witness.requestsEndWithinMs, now) === 0;
    const over = (await this.#read()).filter(
      ({ name, witness }) => name !== this.#name && typeof witness === 'object' && isOver(witness),
    );
    await this.#folder.remove(over.map(({ name }) => name));
  }

  /**
   * Writes the serial, or a later one, and that requests may start until HEARTBEAT_VALID_MS from now and last
   * `attemptMs`.
   */
  async serial(serial: Serial, attemptMs = 0): Promise<void> {
    this.#requestsEndWithinMs = Math.max(this.#requestsEndWithinMs, HEARTBEAT_VALID_MS + attemptMs);
    const isFirst = this.#serial === null;
    if (
      this.#serial === null ||
      serial.lineage !== this.#serial.lineage ||
      serial.value > this.#serial.value
    ) {
      this.#serial = serial;
    }
    await this.#write();
    // A file that cannot be removed costs only one more file to read.
    if (isFirst) await this.#sweep().catch(() => {});
  }

  /** Writes that requests may start until HEARTBEAT_VALID_MS from now. */
  heartbeat(): Promise<void> {
    return this.#serial === null ? Promise.resolve() : this.#write();
  }

  /**
   * Writes that the state lost data while this process was sending. It uses a separate file that is not overwritten,
   * because the serial of the state may have caught up before the next comparison.
   */
  async noteLoss(given: Serial, attemptMs: number): Promise<void> {
    const serial = this.#serial ?? given;
    const endWithinMs = Math.max(this.#requestsEndWithinMs, HEARTBEAT_VALID_MS + attemptMs);
    await this.#folder.write(this.#lossName, [fileLine(serial, endWithinMs, { lossSeen: true })]);
  }

  /** As `Ledger.reconcile`. `compare` puts the state in doubt if it has lost something: then it contains what these witnesses say. */
  async reconcile(
    mode: 'witnessed-only' | undefined,
    compare: (witnesses: readonly Witness[]) => Promise<(StateLoss & { readonly serial: Serial }) | null>,
  ): Promise<StateLoss | null> {
    const witnesses = await this.all();
    if (mode === 'witnessed-only' && witnesses.length === 0) return null;
    const found = await compare(witnesses);
    if (found === null) return null;
    const { serial, ...loss } = found;
    await this.replaceOthers(serial, witnesses);
    return loss;
  }

  /**
   * Writes the serial with which the state continues, valid as long as the longest of these witnesses, and removes the files of the
   * others.
   */
  async replaceOthers(serial: Serial, witnesses: readonly Witness[]): Promise<void> {
    const now = presentStoredMoment();
    const leftMs = witnesses.map((witness) => remainingMs(witness, witness.requestsEndWithinMs, now));
    await this.serial(serial, Math.max(0, ...leftMs));
    const names = (await this.#folder.list()).filter((name) => name.startsWith(this.#prefix));
    await this.#folder.remove(names.filter((name) => name !== this.#name));
    await this.close();
  }

  /** Closes the file until the next write. */
  close(): Promise<void> {
    return this.#next(() => this.#file.close());
  }

  /** Calls during a write share the next one. */
  #write(): Promise<void> {
    this.#queued ??= this.#next(async () => {
      this.#queued = null;
      const writes = ++this.#writes;
      await this.#file.write(fileLine(this.#serial, this.#requestsEndWithinMs, { writes }));
    });
    return this.#queued;
  }

  /** Writes one line after another. */
  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }
}

/** The witness files of this process among the artifacts. */
export function witnessFiles(artifacts: Artifacts) {
  const process = randomUUID();
  const folder = artifacts.run(WITNESS_FOLDER);
  const files = new Map<string, WitnessFile>();
  return {
    /** A name that no other process has. */
    process,
    of(target: LedgerTarget): WitnessFile {
      const tag = targetTag(target).replaceAll(/[{}]/g, '');
      const file = files.get(tag) ?? new WitnessFile(folder, tag, process);
      files.set(tag, file);
      return file;
    },
  };
}

/** A file in a folder that can only write whole files. */
function rewrittenWhole(folder: Pick<RunFolder, 'write'>, name: string): RewrittenFile {
  return {
    async write(line) {
      await folder.write(name, [`${line}\n`]);
    },
    async close() {},
  };
}

/** Replaces a file that cannot be read: the state may have lost anything, and requests may be in flight. */
function damagedWitness(): Witness {
  return {
    serial: { lineage: '', value: 0 },
    ...presentStoredMoment(),
    requestsEndWithinMs: UNKNOWN_REQUESTS_END_WITHIN_MS,
    lossSeen: true,
  };
}

/** A line of a witness file, with the present time. */
function fileLine(
  serial: Serial | null,
  requestsEndWithinMs: number,
  more: { readonly writes: number } | { readonly lossSeen: true },
): string {
  return JSON.stringify({ serial, ...presentStoredMoment(), lastsMs: requestsEndWithinMs, ...more });
}

/** The last line that was written completely. */
function parsed(text: string): Witness | undefined {
  const lines = text.split('\n').flatMap((line) => {
    const { data } = schema.safeParse(parsedJson(line));
    return data === undefined ? [] : [data];
  });
  return lines.sort((one, other) => one.writes - other.writes).at(-1);
}
