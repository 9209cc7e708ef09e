import { z } from 'zod';
import type { PlannedRejection } from '../../model/plan.ts';

const spanSchema = z.object({ file: z.int(), from: z.int(), to: z.int() });
const reasonSchema = z.object({
  code: z.string(),
  message: z.string(),
  field: z.string().exactOptional(),
  line: z.int().exactOptional(),
  column: z.string().exactOptional(),
});
const rejectionSchema: z.ZodType<PlannedRejection> = z.object({
  key: z.string().nullable(),
  records: z.union([z.literal(0), z.literal(1)]),
  rows: z.int(),
  spans: z.array(spanSchema),
  reason: reasonSchema,
});

/** A rejection as a line of JSON. */
export function rejectionLine({ key, records, rows, spans, reason }: PlannedRejection): string {
  return `${JSON.stringify({ key, records, rows, spans, reason } satisfies PlannedRejection)}\n`;
}

/** The rejection of a line. Throws when the line is not one that `rejectionLine` makes. */
export function parseRejectionLine(line: string): PlannedRejection {
  return rejectionSchema.parse(JSON.parse(line));
}
