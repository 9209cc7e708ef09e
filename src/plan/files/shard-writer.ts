import { SHARD_SIZE } from '../../model/operation.ts';
import type { PlannedShard } from '../../model/plan.ts';
import { type RunFolder, sha256Of } from '../../state/artifacts.ts';
import { shardLine, type UnplacedOperation } from './shard-line.ts';

/** A shard is read whole when it is applied: bodies of a megabyte must not make it half a gigabyte. */
const SHARD_CHARS = 4 * 1024 * 1024;
/** How many shards are on their way to disk while the next one fills. */
const WRITES_UNDER_WAY = 2;

/** Writes operations to numbered shard files, each whole or absent. */
export class ShardWriter {
  readonly #folder: RunFolder;
  readonly #kind: PlannedShard['kind'];
  readonly #firstNumber: number;
  readonly #shards: Promise<PlannedShard>[] = [];
  #lines: string[] = [];
  #chars = 0;

  /** Shards are numbered from `firstNumber` over the plan, and named from 1 within their kind. */
  constructor(folder: RunFolder, kind: PlannedShard['kind'], firstNumber = 1) {
    this.#folder = folder;
    this.#kind = kind;
    this.#firstNumber = firstNumber;
  }

  /** Takes an operation; await `room()` between batches. */
  add(operation: UnplacedOperation): void {
    const line = shardLine(operation);
    if (this.#lines.length > 0 && this.#chars + line.length > SHARD_CHARS) this.#close();
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#lines.length === SHARD_SIZE) this.#close();
  }

  /** Waits until no more than a few full shards are still being written; rejects when one could not be. */
  async room(): Promise<void> {
    await this.#shards.at(-1 - WRITES_UNDER_WAY);
  }

  /** Writes what is left and gives every shard, in order. */
  async finish(): Promise<PlannedShard[]> {
    if (this.#lines.length > 0) this.#close();
    return Promise.all(this.#shards);
  }

  /** Waits for what is being written, and writes no more. */
  async abandon(): Promise<void> {
    this.#lines = [];
    await Promise.allSettled(this.#shards);
  }

  #close(): void {
    const ordinal = this.#shards.length + 1;
    const shard = this.#write(ordinal, this.#lines);
    // room() and finish() await it: a rejection until then is not unhandled.
    shard.catch(() => {});
    this.#shards.push(shard);
    this.#lines = [];
    this.#chars = 0;
  }

  async #write(ordinal: number, lines: readonly string[]): Promise<PlannedShard> {
    const prefix = this.#kind === 'upserts' ? 'shard' : 'delete';
    const name = `${prefix}-${String(ordinal).padStart(5, '0')}.jsonl`;
    const number = this.#firstNumber + ordinal - 1;
    const content = Buffer.from(lines.join(''));
    const bytes = await this.#folder.write(name, [content]);
    const sha256 = sha256Of(content);
    return { number, name, kind: this.#kind, operations: lines.length, bytes, sha256 };
  }
}
