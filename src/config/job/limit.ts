import { z } from 'zod';

/** A safety limit: none, a number of records, or a percentage (0 to 100) of its base. */
export type Limit =
  | { readonly kind: 'off' }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

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
export const limitSchema = z
  .union([
    z.int(EXPECTED).min(0, EXPECTED),
    z.string(EXPECTED).regex(PATTERN, EXPECTED).meta({ title: 'percentage, or `off`' }),
  ])
  .transform(parseLimit);
