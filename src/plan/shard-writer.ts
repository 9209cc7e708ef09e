import { hash } from 'node:crypto';
import { z } from 'zod';
import { type Operation, type PackedBody, SHARD_SIZE } from '../model/operation.ts';
import type { PlannedShard } from '../model/plan.ts';
import { StateError } from '../model/storeferry-error.ts';
import { type RunFolder, readWhole, sha256Of, sha256OfFile } from '../state/artifacts.ts';
import { bodiesIn, packBodies } from '../state/state.ts';

/** A shard is read as a whole when it is applied, so bodies of a megabyte must not make it half a gigabyte. */
const SHARD_BYTES = 4 * 1024 * 1024;
/** How many shards are being written while the next one fills. */
const WRITES_UNDER_WAY = 2;

/** Writes operations to numbered shard files, each complete or absent. */
export class ShardWriter {
  readonly #folder: RunFolder;
  readonly #kind: PlannedShard['kind'];
  readonly #firstNumber: number;
  readonly #shards: Promise<PlannedShard>[] = [];
  /** As UTF-8, outside of the heap that the garbage collector copies. */
  #lines: Buffer[] = [];
  #bytes = 0;

  /** Shards are numbered from `firstNumber` over the plan, and named from 1 within their kind. */
  constructor(folder: RunFolder, kind: PlannedShard['kind'], firstNumber = 1) {
    this.#folder = folder;
    this.#kind = kind;
    this.#firstNumber = firstNumber;
  }

  /** Takes an operation; await `waitForWrites()` between batches. */
  add(operation: UnplacedOperation): void {
    const line = Buffer.from(shardLine(operation));
    if (this.#lines.length > 0 && this.#bytes + line.length > SHARD_BYTES) this.#close();
    this.#lines.push(line);
    this.#bytes += line.length;
    if (this.#lines.length === SHARD_SIZE) this.#close();
  }

  /** Waits until only a few full shards are still being written; rejects if a write failed. */
  async waitForWrites(): Promise<void> {
    await this.#shards.at(-1 - WRITES_UNDER_WAY);
  }

  /** Writes the last shard and returns all shards, in order. */
  async finish(): Promise<PlannedShard[]> {
    if (this.#lines.length > 0) this.#close();
    return Promise.all(this.#shards);
  }

  /** Waits for the current writes, and writes no more. */
  async abandon(): Promise<void> {
    this.#lines = [];
    await Promise.allSettled(this.#shards);
  }

  #close(): void {
    const ordinal = this.#shards.length + 1;
    const shard = this.#write(ordinal, this.#lines);
    // waitForWrites() and finish() await it; a rejection before that must not count as unhandled.
    shard.catch(() => {});
    this.#shards.push(shard);
    this.#lines = [];
    this.#bytes = 0;
  }

  async #write(ordinal: number, lines: readonly Buffer[]): Promise<PlannedShard> {
    const prefix = FILE_PREFIXES[this.#kind];
    const name = `${prefix}-${String(ordinal).padStart(5, '0')}.jsonl`;
    const number = this.#firstNumber + ordinal - 1;
    const written = await writeLines(this.#folder, name, lines);
    return { number, kind: this.#kind, operations: lines.length, ...written };
  }
}

const FILE_PREFIXES = { upserts: 'shard', renames: 'rename', deletes: 'delete' } as const satisfies Readonly<
  Record<PlannedShard['kind'], string>
>;
/** The files of shards, also of those that a wave ends in. */
export const SHARD_FILE = /^(shard|rename|delete)-\d+(-\d+)?\.jsonl$/;

/** Ends the lines of a shard; no JSON has this byte. */
const END_OF_LINES = 0;
/** Between an operation and its body. */
const TAB = 0x09;

/**
 * Writes the lines, and after them their bodies once more as the ledger will keep them: the lengths of the blocks as JSON, a
 * line break, and the blocks. They are packed here, and not while outcomes wait to be recorded (test/bench/README.md).
 */
async function writeLines(
  folder: RunFolder,
  name: string,
  lines: readonly Buffer[],
): Promise<Pick<PlannedShard, 'name' | 'bytes' | 'sha256'>> {
  const bodies = lines.map((line) => line.subarray(line.indexOf(TAB) + 1, -1));
  const isOfDeletes = bodies.every(({ length }) => length === 0);
  const blocks = isOfDeletes ? [] : packBodies(bodies);
  const lengths = JSON.stringify(blocks.map(({ length }) => length));
  const packed = isOfDeletes ? [] : [Buffer.of(END_OF_LINES), Buffer.from(`${lengths}\n`), ...blocks];
  const content = Buffer.concat([...lines, ...packed]);
  const bytes = await folder.write(name, [content]);
  return { name, bytes, sha256: sha256Of(content) };
}

/**
 * Cuts shards where a wave ends, so that each wave is a number of whole shards, and numbers them from 1. `ends`: how many of the
 * operations have been sent at the end of each wave.
 */
export async function cutIntoWaves(
  folder: RunFolder,
  shards: readonly PlannedShard[],
  ends: readonly number[],
): Promise<PlannedShard[]> {
  const cut: Omit<PlannedShard, 'number'>[] = [];
  let from = 0;
  for (const { number: _, ...shard } of shards) {
    const to = from + shard.operations;
    const bounds = [from, ...ends.filter((end) => from < end && end < to), to];
    const parts = bounds
      .slice(1)
      .map((end, index) => ({ start: (bounds[index] ?? 0) - from, end: end - from }));
    const waveOf = (end: number) => ends.findIndex((last) => from + end <= last) + 1;
    if (parts.length === 1) {
      cut.push({ ...shard, wave: waveOf(shard.operations) });
    } else {
      const lines = shardLines(await verifiedShard(folder, { number: 0, ...shard }));
      for (const [index, { start, end }] of parts.entries()) {
        const name = shard.name.replace('.jsonl', `-${index + 1}.jsonl`);
        const ofPart = lines.slice(start, end).map((line) => Buffer.from(`${line}\n`));
        const written = await writeLines(folder, name, ofPart);
        cut.push({ kind: shard.kind, wave: waveOf(end), operations: end - start, ...written });
      }
      await folder.remove([shard.name]);
    }
    from = to;
  }
  return cut.map((shard, index) => ({ number: index + 1, ...shard }));
}

/** The lines of a shard file, each without its line break. */
function shardLines(content: Buffer) {
  const end = content.indexOf(END_OF_LINES);
  const text = content.toString('utf8', 0, end === -1 ? content.length : end);
  return text.split('\n').slice(0, -1);
}

/** Where the bodies of its lines are packed, in order; nothing in files of deletes. */
function packedBodies(content: Buffer): PackedBody[] {
  const end = content.indexOf(END_OF_LINES);
  if (end === -1) return [];
  let start = content.indexOf('\n', end) + 1;
  const lengths = z.array(z.int().positive()).parse(JSON.parse(content.toString('utf8', end + 1, start)));
  return lengths.flatMap((length) => {
    // Copied: another thread gets it, and would get the whole file with it.
    const block = new Uint8Array(content.subarray(start, start + length));
    start += length;
    return Array.from({ length: bodiesIn(block) }, (_, place) => ({ block, place }));
  });
}

const spanSchema = z.tuple([z.int(), z.int(), z.int()]);
const upserted = { fingerprint: z.string(), memo: z.string().exactOptional() };
const partSchema = z.object({
  fields: z.array(z.string()),
  byId: z.literal(true).exactOptional(),
  title: z.string().exactOptional(),
});
const fromRecord = { key: z.string(), rows: z.int(), spans: z.array(spanSchema) };

const lineSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('upsert-product'),
    ...fromRecord,
    ...upserted,
    knownId: z.int().nullable(),
    part: partSchema.exactOptional(),
    stock: z.array(z.tuple([z.int(), z.number().nullable()])).exactOptional(),
    owner: z.string().exactOptional(),
    renames: z.string().exactOptional(),
    adopts: z.literal(true).exactOptional(),
    putId: z.int().exactOptional(),
  }),
  z.object({
    kind: z.literal('update-contact'),
    ...fromRecord,
    ...upserted,
    part: partSchema.exactOptional(),
  }),
  z.object({ kind: z.literal('upsert-contact'), ...fromRecord, ...upserted }),
  // Strict: a line of another version must not lose the look-up of its id.
  z.strictObject({
    kind: z.literal('delete-product'),
    ...fromRecord,
    id: z.int(),
    idLookupBody: z.string().exactOptional(),
    renamedTo: z.string().exactOptional(),
  }),
]);

/** An operation before its place in a shard is known. */
export type UnplacedOperation = Operation extends infer Each
  ? Each extends Operation
    ? Omit<Each, 'index'>
    : never
  : never;

/**
 * A line of a shard file: the facts about the operation as JSON, a tab, and the request body as it will be sent, so
 * that applying neither parses nor serialises bodies. Neither part can contain a tab or a line break. The index of
 * the operation is that of its line.
 */
export function shardLine(operation: UnplacedOperation): string {
  const spans = operation.spans.map(({ file, from, to }) => [file, from, to]);
  const { kind, key, rows } = operation;
  switch (operation.kind) {
    case 'upsert-product': {
      const { fingerprint, memo, knownId, part, stock, owner, renames, adopts, putId, body } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, fingerprint, memo, knownId, part, stock, owner, renames, adopts, putId })}\t${body}\n`;
    }
    case 'update-contact': {
      const { fingerprint, memo, part, body } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, fingerprint, memo, part })}\t${body}\n`;
    }
    case 'upsert-contact': {
      const { fingerprint, memo, body } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, fingerprint, memo })}\t${body}\n`;
    }
    case 'delete-product': {
      const { id, idLookupBody, renamedTo } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, id, idLookupBody, renamedTo })}\t\n`;
    }
    default:
      return operation satisfies never;
  }
}

/** The operation of a line (without its line break). Throws if the line was not made by `shardLine`. */
export function parseShardLine(line: string, index: number): Operation {
  const tab = line.indexOf('\t');
  if (tab === -1) throw new SyntaxError('no tab between an operation and its body');
  const checked = lineSchema.parse(JSON.parse(line.slice(0, tab)));
  // Not by the schema: a transform takes as long as all of its other checks together.
  const parsed = { ...checked, spans: checked.spans.map(([file, from, to]) => ({ file, from, to })) };
  const body = line.slice(tab + 1);
  return parsed.kind === 'delete-product' ? { ...parsed, index } : { ...parsed, index, body };
}

/** 22 characters of base64url hold 132 bits: no two bodies of a store will ever share them by chance. */
const FINGERPRINT_LENGTH = 22;

/** Identifies a request body: sha-256, shortened (0.6 µs for a body of 600 characters). */
export function fingerprintOf(body: string): string {
  return hash('sha256', body, 'base64url').slice(0, FINGERPRINT_LENGTH);
}

/**
 * The operations of a shard in order, each with its index. StateError if its file is missing or differs by a byte
 * from the planned content; then no operation is returned.
 */
export async function readShard(folder: RunFolder, shard: PlannedShard): Promise<Operation[]> {
  const content = await verifiedShard(folder, shard);
  const packed = packedBodies(content);
  return shardLines(content).map((line, index) => {
    const operation = parsedLine(folder, shard.name, index, () => parseShardLine(line, index));
    return operation.kind === 'delete-product' ? operation : { ...operation, packed: packed[index] };
  });
}

/** The bytes of a shard's file; StateError unless they are those that the plan has written. */
async function verifiedShard(folder: RunFolder, shard: PlannedShard) {
  const content = await readWhole(folder, shard.name, shard.bytes);
  refuseOther(sha256Of(content), folder, shard);
  return content;
}

/** StateError unless the bytes of a shard's file are those that the plan has written. */
export async function verifyShard(folder: RunFolder, shard: PlannedShard): Promise<void> {
  refuseOther(await sha256OfFile(folder, shard.name), folder, shard);
}

function refuseOther(found: string, folder: RunFolder, { name, sha256 }: PlannedShard) {
  if (sha256 === found) return;
  throw new StateError(`${folder.location}/${name} was changed after planning: its checksum differs.`, {
    hint: 'Run the job again: it is planned again.',
  });
}

/** The value of a line of an artifact; StateError, with its number, if it cannot be read. */
export function parsedLine<Value>(folder: RunFolder, name: string, index: number, parse: () => Value): Value {
  try {
    return parse();
  } catch (cause) {
    throw new StateError(`Line ${index + 1} of ${folder.location}/${name} is not a line of a plan.`, {
      cause,
      hint: 'The file was damaged or edited. Run the job again.',
    });
  }
}
