import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { type GuardHit, guardHitSchema } from '../model/guard.ts';
import type { Operation } from '../model/operation.ts';
import { type PlannedRejection, rejectionSchema } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { parseShardLine, shardLine, type UnplacedOperation } from './shard-writer.ts';

/** The file of a plan's rejections in the folder of its run. */
export const REJECTIONS_FILE = 'rejections.jsonl';

/** Streams lines or bytes to a file of a plan immediately, because every row of a source may be rejected, or held. */
export class LineWriter {
  readonly #lines = new PassThrough();
  /** Taken since the last `room()`: a write for each of them takes longer than to make it. */
  #taken: Uint8Array[] = [];
  readonly #written: Promise<number>;
  readonly #hash = createHash('sha256');

  constructor(folder: RunFolder, name: string) {
    this.#written = folder.write(name, this.#lines);
    this.#written.catch((error: unknown) => this.#lines.destroy(error instanceof Error ? error : undefined));
    // `room()` and `finish()` reject with the error of the folder.
    this.#lines.on('error', () => {});
  }

  /** Takes a line with its line break, or bytes. */
  add(line: string | Uint8Array): void {
    this.#taken.push(typeof line === 'string' ? Buffer.from(line) : line);
  }

  #write(): void {
    if (this.#taken.length === 0) return;
    const bytes = Buffer.concat(this.#taken);
    this.#taken = [];
    this.#hash.update(bytes);
    this.#lines.write(bytes);
  }

  /** Waits while more is in memory than the disk has accepted. */
  async room(): Promise<void> {
    this.#write();
    if (this.#lines.writableNeedDrain) await Promise.race([once(this.#lines, 'drain'), this.#written]);
  }

  /** Returns the SHA-256 of the file, in hexadecimal, when it is complete on disk. */
  async finish(): Promise<string> {
    this.#write();
    this.#lines.end();
    await this.#written;
    return this.#hash.digest('hex');
  }

  /** Leaves no file. */
  async abandon(): Promise<void> {
    this.#lines.destroy(new Error('the plan was given up'));
    await this.#written.catch(() => {});
  }
}

/** A rejection as a line of JSON. */
export function rejectionLine({ key, records, rows, spans, reason }: PlannedRejection): string {
  return `${JSON.stringify({ key, records, rows, spans, reason } satisfies PlannedRejection)}\n`;
}

/** The rejection of a line. Throws if the line was not made by `rejectionLine`. */
export function parseRejectionLine(line: string): PlannedRejection {
  return rejectionSchema.parse(JSON.parse(line));
}

/** The file of the records that guards hold, in the folder of their run. It stays when the run closes. */
export const HELD_FILE = 'held.jsonl';

/** A record that guards hold. */
export interface HeldRecord<Of = Operation> {
  /** What would be sent. */
  readonly operation: Of;
  /** Fingerprint of the body that the store had acknowledged then; null if there was none. */
  readonly before: string | null;
  /** The values that guards have hit. */
  readonly hits: readonly GuardHit[];
}

const metaSchema = z.object({ before: z.string().nullable(), hits: z.array(guardHitSchema) });

/** A held record as a line: what is known of it as JSON, a tab, and the line of its operation. */
export function heldLine({ operation, before, hits }: HeldRecord<UnplacedOperation>): string {
  return `${JSON.stringify({ before, hits })}\t${shardLine(operation)}`;
}

/** The held record of a line (without its line break). Throws if the line was not made by `heldLine`. */
export function parseHeldLine(line: string, index: number): HeldRecord {
  const tab = line.indexOf('\t');
  const meta = metaSchema.parse(JSON.parse(line.slice(0, tab)));
  return { ...meta, operation: parseShardLine(line.slice(tab + 1), index) };
}
