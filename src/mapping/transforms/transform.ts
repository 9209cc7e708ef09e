import type { SourceRow } from '../source-row.ts';
import type { Cell, ItemKind, Kind, Present } from '../values/cell.ts';

/** One step of a pipeline, ready to run. Steps on single items are applied to each item of a list. */
export interface Step {
  /** What it works on: single items of a kind, or a whole list. */
  readonly takes: ItemKind | 'text[]' | 'any';
  /** What comes out, by what goes in. */
  readonly gives: (taken: Kind) => Kind;
  /** Never called with a blank, unless `blanks` is set. */
  readonly run: (value: Present, row: SourceRow, n: number) => Cell;
  /** What a blank becomes; left out, it stays blank. */
  readonly blank?: () => Cell;
}

/** A step from a text to a text. */
export function textStep(run: (text: string, row: SourceRow, n: number) => Cell): Step {
  return {
    takes: 'text',
    gives: () => 'text',
    run: (value, row, n) => (typeof value === 'string' ? run(value, row, n) : value),
  };
}

/** A step from a text to another kind of item. */
export function readingStep(gives: ItemKind, run: (text: string) => Cell): Step {
  return {
    takes: 'text',
    gives: () => gives,
    run: (value) => (typeof value === 'string' ? run(value) : value),
  };
}
