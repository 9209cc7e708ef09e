import { z } from 'zod';
import { DEFAULT_LIMITS, LIMIT_WORDS, type LimitName } from '../../model/input-limits.ts';

function most(name: LimitName) {
  return z.int().min(1).default(DEFAULT_LIMITS[name]).describe(LIMIT_WORDS[name].counts);
}

/** The limits on what an import takes in, each with its default. */
export const limitsSchema = z.strictObject({
  rowBytes: most('rowBytes'),
  cellBytes: most('cellBytes'),
  rows: most('rows'),
  columns: most('columns'),
  headerBytes: most('headerBytes'),
  bytes: most('bytes'),
  ratio: most('ratio'),
  fileCount: most('fileCount'),
  pathBytes: most('pathBytes'),
  crosswalkRows: most('crosswalkRows'),
  lookupRows: most('lookupRows'),
  patternLength: most('patternLength'),
  recordRows: most('recordRows'),
  combinations: most('combinations'),
  mergedCopies: most('mergedCopies'),
});
