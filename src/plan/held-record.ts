import { z } from 'zod';
import { type GuardHit, guardHitSchema } from '../model/guard.ts';
import type { Operation } from '../model/operation.ts';
import { parseShardLine, shardLine, type UnplacedOperation } from './shard-writer.ts';

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
