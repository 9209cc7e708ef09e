import { CsvError } from '../model/errors.ts';
import type { StructureFault, StructureFaultKind } from './scan-rows.ts';

const LF = 0x0a;
const CR = 0x0d;

const UNQUOTED_HINT =
  'Quote the whole cell and double the quotes in it ("12"" vinyl"); if the file never quotes cells, set `quotes: none` in the source of the job.';

const EXPLANATIONS: Readonly<
  Record<StructureFaultKind, { readonly message: string; readonly hint: string }>
> = {
  'text-after-quote': {
    message: 'text follows the closing quote of a cell; a delimiter or the end of the line was expected',
    hint: 'A quote within a quoted cell is written twice ("12"" vinyl"). Otherwise an earlier quote is not closed.',
  },
  'blank-before-quote': {
    message: 'a blank stands before the opening quote of a cell, which makes the quote part of the text',
    hint: 'Remove the blanks between delimiter and quote; if the file never quotes cells, set `quotes: none` in the source of the job.',
  },
  'backslash-quote': {
    message:
      'a quote follows a backslash: this file seems to escape quotes with backslashes, which is not CSV',
    hint: UNQUOTED_HINT,
  },
  'odd-quote': {
    message: 'an unquoted cell contains one quote, so the end of the cell is ambiguous',
    hint: UNQUOTED_HINT,
  },
  'unclosed-quote': {
    message: 'the cell that is opened by this quote is never closed',
    hint: 'Close the quote, or get a complete export: the file may have been cut off.',
  },
};

/** The error for broken quotes, with line and column. `bytes` are those that the fault's offset counts in. */
export function structureError(file: string, bytes: Uint8Array, fault: StructureFault): CsvError {
  const { message, hint } = EXPLANATIONS[fault.kind];
  const began = fault.cellLine === fault.line ? '' : ` (the cell begins on line ${fault.cellLine})`;
  return new CsvError(`The quotes of the file are broken: ${message}${began}.`, {
    place: { file, line: fault.line, column: columnOf(bytes, fault.offset) },
    hint,
  });
}

/** The column of a byte in its physical line, in characters from 1. */
export function columnOf(bytes: Uint8Array, offset: number): number {
  let start = offset;
  while (start > 0 && bytes[start - 1] !== LF && bytes[start - 1] !== CR) start -= 1;
  let characters = 0;
  for (let at = start; at < offset; at += 1) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) characters += 1;
  return characters + 1;
}
