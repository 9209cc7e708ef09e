import { beyondLimit, raiseLimit, TOO_MANY_ROWS } from '../../model/input-limits.ts';
import type { Reason } from '../../model/reason.ts';

/** Why a record is rejected that has more rows than fit. */
export function tooManyRows(line: number, most: number): Reason {
  return {
    code: TOO_MANY_ROWS,
    message: `${beyondLimit('recordRows', most)} ${raiseLimit('recordRows')}`,
    line,
  };
}

/** Why a record is rejected whose neighbour in the file cannot be placed. */
export function neighbourMisaligned(line: number): Reason {
  return {
    code: 'neighbour-misaligned',
    message: `line ${line} cannot be placed, and may belong to this product: correct that line first`,
    line,
  };
}

/** Why a row is rejected whose key is blank. */
export function keyMissing(line: number, column: string | undefined): Reason {
  return {
    code: 'key-missing',
    message: 'the row does not say which product it belongs to: the cell that names it is blank',
    line,
    ...(column === undefined ? {} : { column }),
  };
}

/** Why a row is rejected that continues a record, where none has begun. */
export function nothingToContinue(line: number): Reason {
  return {
    code: 'nothing-to-continue',
    message: 'the row continues the product above it, but none stands there',
    line,
  };
}
