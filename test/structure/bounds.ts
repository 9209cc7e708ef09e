import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Bound } from './structure.ts';

/** What may not get worse; `npm run structure -- --write` sets it to what is measured. */
export const BOUNDS_FILE = join(import.meta.dirname, 'bounds.json');

/** The bounds by their names. */
export function readBounds(): Record<string, Bound> {
  return z
    .record(z.string(), z.tuple([z.number(), z.number().optional()]))
    .parse(JSON.parse(readFileSync(BOUNDS_FILE, 'utf8')));
}
