import type { DatabaseSync } from 'node:sqlite';
import { StateError } from '../../model/errors.ts';
import { BLOCK_BODIES, BLOCK_CHARACTERS, decodeBodies, encodeBodies } from '../body-codec.ts';

/**
 * Request bodies, packed in blocks of those that were recorded together. A body is known by its block's number times
 * `BLOCK_BODIES` plus its place. A block knows which of its places still stand for something (`living`) and which it
 * has bodies for (`packed`), one bit a place; when no more than half of the packed ones live, it is packed again.
 */
export interface Bodies {
  /** Within a transaction; the number of each body, in order. */
  add(bodies: readonly string[]): number[];
  /** Reads bodies by their numbers; what was recorded together, and is often asked for together, is unpacked once. */
  reader(): (body: number) => string | null;
  /** Within a transaction: forgets what `dead_bodies` lists, and empties that list. */
  bury(): void;
}

/** The bodies of an open database. Makes `temp.dead_bodies`, for the numbers of those that nothing refers to any more. */
export function createBodies(database: DatabaseSync): Bodies {
  database.exec('CREATE TEMP TABLE IF NOT EXISTS dead_bodies (body INTEGER PRIMARY KEY)');
  const insert = database.prepare('INSERT INTO bodies (content, living, packed) VALUES (?, ?, ?)');
  const clear = database.prepare(
    `UPDATE bodies SET living = living - dead.bits FROM (
       SELECT body / ${BLOCK_BODIES} AS block, sum(1 << (body % ${BLOCK_BODIES})) AS bits FROM dead_bodies GROUP BY block
     ) AS dead WHERE bodies.number = dead.block`,
  );
  const ofDead = `number IN (SELECT body / ${BLOCK_BODIES} FROM dead_bodies)`;
  const removeEmpty = database.prepare(`DELETE FROM bodies WHERE ${ofDead} AND living = 0`);
  const touched = database.prepare(`SELECT number, living, packed FROM bodies WHERE ${ofDead}`);
  const selectContent = database.prepare('SELECT content FROM bodies WHERE number = ?');
  const repack = database.prepare('UPDATE bodies SET content = ?, packed = living WHERE number = ?');
  const forgetList = database.prepare('DELETE FROM dead_bodies');

  const unpack = (block: number): readonly string[] => {
    const content = selectContent.get(block)?.['content'];
    return content instanceof Uint8Array ? decodeBodies(content) : [];
  };
  const packAnew = (block: number, living: number): void => {
    try {
      const kept = unpack(block).map((body, place) => (living & (1 << place) ? body : ''));
      repack.run(encodeBodies(kept), block);
    } catch (error) {
      // A damaged block stays as it is: reading a body of it fails, and writing goes on.
      if (!(error instanceof StateError)) throw error;
    }
  };

  return {
    add(bodies) {
      const numbers: number[] = [];
      for (const block of blocksOf(bodies)) {
        const all = (1 << block.length) - 1;
        const number = Number(insert.run(encodeBodies(block), all, all).lastInsertRowid);
        for (const place of block.keys()) numbers.push(number * BLOCK_BODIES + place);
      }
      return numbers;
    },
    reader() {
      const unpacked = new Map<number, readonly string[]>();
      return (body) => {
        const block = Math.floor(body / BLOCK_BODIES);
        const bodies = unpacked.get(block) ?? unpack(block);
        unpacked.set(block, bodies);
        return bodies[body % BLOCK_BODIES] ?? null;
      };
    },
    bury() {
      clear.run();
      removeEmpty.run();
      for (const row of touched.all()) {
        const living = Number(row['living']);
        if (2 * bitsIn(living) <= bitsIn(Number(row['packed']))) packAnew(Number(row['number']), living);
      }
      forgetList.run();
    },
  };
}

function* blocksOf(bodies: readonly string[]): Generator<readonly string[]> {
  let block: string[] = [];
  let characters = 0;
  for (const body of bodies) {
    block.push(body);
    characters += body.length;
    if (block.length < BLOCK_BODIES && characters < BLOCK_CHARACTERS) continue;
    yield block;
    block = [];
    characters = 0;
  }
  if (block.length > 0) yield block;
}

function bitsIn(bits: number): number {
  let count = 0;
  for (let rest = bits; rest > 0; rest >>= 1) count += rest & 1;
  return count;
}
