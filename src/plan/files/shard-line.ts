import { z } from 'zod';
import type { Operation } from '../../model/operation.ts';

const spanSchema = z.tuple([z.int(), z.int(), z.int()]).transform(([file, from, to]) => ({ file, from, to }));
const upserted = { fingerprint: z.string(), memo: z.string().exactOptional() };
const fromRecord = { key: z.string(), rows: z.int(), spans: z.array(spanSchema) };
const lineSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('upsert-product'),
    ...fromRecord,
    ...upserted,
    knownId: z.int().nullable(),
  }),
  z.object({ kind: z.literal('update-contact'), ...fromRecord, ...upserted }),
  // Strict: a line that another version wrote must not lose the lookup of its id.
  z.strictObject({
    kind: z.literal('delete-product'),
    ...fromRecord,
    id: z.int(),
    idLookupBody: z.string().exactOptional(),
  }),
]);

/** An operation before it has its place in a shard. */
export type UnplacedOperation = Operation extends infer Each
  ? Each extends Operation
    ? Omit<Each, 'index'>
    : never
  : never;

/**
 * A line of a shard file: what is known about the operation as JSON, a tab, and the request body as it is to be sent,
 * so that applying neither parses nor serialises bodies. Neither part can hold a tab or a line break. The operation's
 * index is its line's.
 */
export function shardLine(operation: UnplacedOperation): string {
  const spans = operation.spans.map(({ file, from, to }) => [file, from, to]);
  const { kind, key, rows } = operation;
  switch (operation.kind) {
    case 'upsert-product': {
      const { fingerprint, memo, knownId, body } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, fingerprint, memo, knownId })}\t${body}\n`;
    }
    case 'update-contact': {
      const { fingerprint, memo, body } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, fingerprint, memo })}\t${body}\n`;
    }
    case 'delete-product': {
      const { id, idLookupBody } = operation;
      return `${JSON.stringify({ kind, key, rows, spans, id, idLookupBody })}\t\n`;
    }
    default:
      return operation satisfies never;
  }
}

/** The operation of a line (without its line break). Throws when the line is not one that `shardLine` makes. */
export function parseShardLine(line: string, index: number): Operation {
  const tab = line.indexOf('\t');
  if (tab === -1) throw new SyntaxError('no tab between an operation and its body');
  const parsed = lineSchema.parse(JSON.parse(line.slice(0, tab)));
  const body = line.slice(tab + 1);
  switch (parsed.kind) {
    case 'upsert-product':
    case 'update-contact':
      return { ...parsed, index, body };
    case 'delete-product':
      return { ...parsed, index };
    default:
      return parsed satisfies never;
  }
}
