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

/** The witness of one process about one target. */
export type WitnessFile = ReturnType<typeof witnessFile>;

/**
 * A state that was restored from a copy, or lost its last writes, cannot know that. So its serial is also written to the artifacts,
 * after the state and before any request of the group. Each process has its own file, so that none overwrites another's. `tag` names
 * the target, `process` the process; both are valid in file names.
 */
export function witnessFile(folder: RunFolder, tag: string, process: string) {
  const prefix = `${tag}.`;
  const ownName = `${prefix}${process}.json`;
  const file = folder.rewritten?.(ownName) ?? rewrittenWhole(folder, ownName);
  let known: Serial | null = null;
  let knownEndWithinMs = 0;
  let writing: Promise<void> = Promise.resolve();
  let queued: Promise<void> | null = null;
  let writes = 0;

  const listed = async () => (await folder.list()).filter((name) => name.startsWith(prefix));
  /** By name; undefined for a file that is gone. */
  const read = async (): Promise<ReadonlyMap<string, Witness | 'damaged' | undefined>> => {
    const found = (await listed()).map(async (name) => {
      try {
        return [name, parsed(await text(await folder.read(name))) ?? ('damaged' as const)] as const;
      } catch (error) {
        if (await folder.exists(name)) throw error;
        return [name, undefined] as const;
      }
    });
    return new Map(await Promise.all(found));
  };
  /**
   * The witnesses of all processes about the target. A damaged file counts as a witness that the state is behind.
   * StateError if a file that exists cannot be read.
   */
  const all = async (): Promise<readonly Witness[]> => {
    for (;;) {
      const found = [...(await read()).values()];
      const witnesses = found.filter((witness) => witness !== undefined);
      // Another process has written their content to its own file before it removed them: read all again.
      if (witnesses.length < found.length) continue;
      return witnesses.map((witness) => (witness === 'damaged' ? damagedWitness() : witness));
    }
  };
  /** Removes files of ended processes that add nothing to this one's; otherwise each run would leave a file. */
  const sweep = async (own: Serial) => {
    const now = presentStoredMoment();
    const isOver = (witness: Witness) =>
      witness.lossSeen !== true &&
      witness.serial.lineage === own.lineage &&
      witness.serial.value <= own.value &&
      remainingMs(witness, witness.requestsEndWithinMs, now) === 0;
    const over = [...(await read())].filter(
      ([name, witness]) => name !== ownName && typeof witness === 'object' && isOver(witness),
    );
    await folder.remove(over.map(([name]) => name));
  };
  /** Does one thing with the file after another. */
  const next = (work: () => Promise<void>) => {
    const done = writing.then(work);
    writing = done.catch(() => {});
    return done;
  };
  /** Calls during a write share the next one. */
  const write = () => {
    queued ??= next(async () => {
      queued = null;
      writes += 1;
      await file.write(fileLine(known, knownEndWithinMs, { writes }));
    });
    return queued;
  };
  /** Closes the file until the next write. */
  const close = () => next(() => file.close());
  /**
   * Writes the serial, or a later one, and that requests may start until HEARTBEAT_VALID_MS from now and last
   * `attemptMs`.
   */
  const serial = async (given: Serial, attemptMs = 0) => {
    knownEndWithinMs = Math.max(knownEndWithinMs, HEARTBEAT_VALID_MS + attemptMs);
    const before = known;
    if (before === null || given.lineage !== before.lineage || given.value > before.value) known = given;
    await write();
    // A file that cannot be removed costs only one more file to read.
    if (before === null) await sweep(known ?? given).catch(() => {});
  };
  /**
   * Writes the serial with which the state continues, valid as long as the longest of these witnesses, and removes the files of the
   * others.
   */
  const replaceOthers = async (given: Serial, witnesses: readonly Witness[]) => {
    const now = presentStoredMoment();
    const leftMs = witnesses.map((witness) => remainingMs(witness, witness.requestsEndWithinMs, now));
    await serial(given, Math.max(0, ...leftMs));
    await folder.remove((await listed()).filter((name) => name !== ownName));
    await close();
  };
  return {
    all,
    serial,
    /** Writes that requests may start until HEARTBEAT_VALID_MS from now. */
    heartbeat: () => (known === null ? Promise.resolve() : write()),
    /**
     * Writes that the state lost data while this process was sending. It uses a separate file that is not overwritten,
     * because the serial of the state may have caught up before the next comparison.
     */
    async noteLoss(given: Serial, attemptMs: number): Promise<void> {
      const endWithinMs = Math.max(knownEndWithinMs, HEARTBEAT_VALID_MS + attemptMs);
      const line = fileLine(known ?? given, endWithinMs, { lossSeen: true });
      await folder.write(`${prefix}${process}-loss.json`, [line]);
    },
    replaceOthers,
    /** As `Ledger.reconcile`. `compare` puts the state in doubt if it has lost something: then it contains what these witnesses say. */
    async reconcile(
      mode: 'witnessed-only' | undefined,
      compare: (witnesses: readonly Witness[]) => Promise<(StateLoss & { readonly serial: Serial }) | null>,
    ): Promise<StateLoss | null> {
      const witnesses = await all();
      if (mode === 'witnessed-only' && witnesses.length === 0) return null;
      const found = await compare(witnesses);
      if (found === null) return null;
      const { serial: continued, ...loss } = found;
      await replaceOthers(continued, witnesses);
      return loss;
    },
    close,
  };
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
      const file = files.get(tag) ?? witnessFile(folder, tag, process);
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
) {
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
