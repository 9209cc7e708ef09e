import { z } from 'zod';
import { forEachLimit, type Limit, safetyLimit } from '../../model/safety-limits.ts';

const EXPECTED = 'expected a whole number, a percentage such as 5%, or off';
const PATTERN = /^(off|\d+|(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%)$/;

function parseLimit(written: number | string): Limit {
  if (written === 'off') return { kind: 'off' };
  if (typeof written === 'string' && written.endsWith('%')) {
    return { kind: 'percent', percent: Number(written.slice(0, -1)) };
  }
  return { kind: 'count', count: Number(written) };
}

/** A limit as people write it: `500`, `5%` or `off`. */
const limitSchema = z
  .union([
    z.int(EXPECTED).min(0, EXPECTED),
    z.string(EXPECTED).regex(PATTERN, EXPECTED).meta({ title: 'percentage, or `off`' }),
  ])
  .transform(parseLimit);

/** What stops a run before its first write; naming one limit keeps the defaults of the others. */
export const safetySchema = z.strictObject(
  forEachLimit((name) => {
    const { default: usual, description } = safetyLimit(name);
    return limitSchema.prefault(usual).describe(description);
  }),
);
