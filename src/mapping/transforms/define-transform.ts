import { z } from 'zod';
import { Decimal } from '../../model/decimal.ts';
import type { LookupTable } from '../lookup-table.ts';
import type { SourceRow } from '../record-rows.ts';
import { type Cell, type Expression, type ItemKind, type Kind, refuse } from '../values/cell.ts';

/** One executable step of a pipeline, with its types. Steps on single items are applied to each item of a list. */
export interface Step {
  /** The input type: single items of a kind, or a whole list. */
  readonly takes: ItemKind | 'text[]' | 'any';
  /** The output type, by input type. */
  readonly gives: (taken: Kind) => Kind;
  /** Never called with a blank value. Undefined is a blank; an empty text is none, and clears its field. */
  readonly run: Expression;
  /** The result for a blank; default: it stays blank. */
  readonly blank?: () => Cell;
  /** Of a step that calculates: the same on exact decimals, so that steps in a row are not rounded between them. */
  readonly exact?: Calculation;
}

/** A calculation on an exact decimal; undefined is a blank. */
interface Calculation {
  readonly run: (value: Decimal, row: SourceRow, n: number) => Decimal | undefined;
  /** What is done with the result of the last calculation in a row. */
  readonly settle: (value: Decimal, row: SourceRow, n: number) => Decimal;
}

/** A step that reads texts, by default to other texts. An empty text that it gives is a blank: sent, it would clear the field. */
export function textStep(run: (text: string, row: SourceRow, n: number) => Cell, gives: Kind = 'text'): Step {
  return {
    takes: 'text',
    gives: () => gives,
    run: (row, n, value) => {
      const result = typeof value === 'string' ? run(value, row, n) : value;
      return result === '' ? undefined : result;
    },
  };
}

/** The place of a part within a transform: keys and indexes. */
type PathWithin = readonly (string | number)[];

/** Refuses an amount with this code or sign of a currency, if it is not what is sent or converted. */
export type CurrencyCheck = (word: string, row: SourceRow, n: number) => void;

/** Finds a transform of the workspace by its name. */
export type CustomTransforms = (name: string) => ((text: string) => unknown) | undefined;

/** What a transform may use of its mapping. */
export interface TransformContext {
  /** Adds a problem to those of the mapping. */
  readonly complain: (path: PathWithin, message: string) => void;
  /** An argument: the text itself, or the value of the param that it names in braces. */
  readonly argument: (path: PathWithin, text: string) => string;
  /** A number to calculate with: as written, or from the param or column named in braces. */
  readonly operand: (path: PathWithin, written: number | string) => Expression<Decimal | undefined>;
  /** Compiles a text with `{value}`, columns and params. */
  readonly template: (path: PathWithin, text: string) => Expression<string | undefined>;
  /** A lookup table of the mapping; undefined in a check, which reads no tables. */
  readonly lookupTable: (path: PathWithin, name: string) => LookupTable | undefined;
  /** Counts a note, under the name of the field, with the current record. */
  readonly note: (sentence: string) => void;
  /** The text of a cell for a message; cells of contacts are not quoted. */
  readonly quote: (text: string) => string;
  readonly checkCurrency: CurrencyCheck;
  /** The same for the currencies of the format of a cell, separated by blanks; undefined where no amount is read. */
  readonly checkFormat: CurrencyCheck | undefined;
  /** Refuses a cell of another table, with the words of its format, as one of the source. */
  readonly refuseDamaged: (table: string, header: string, cell: string, named: string | undefined) => void;
  /** Undefined where those of the workspace are not known: then their texts stay as they are. */
  readonly custom: CustomTransforms | undefined;
  /** Whether blank parts of a text that is split are kept, as empty ones. */
  readonly keepsPlaces: boolean;
  /** The most characters of a pattern. */
  readonly patternLength: number;
}

/** A step that calculates. `settle` rounds what it gives, unless another calculation follows. */
export function calculatingStep(
  run: Calculation['run'],
  settle: Calculation['settle'] = (value) => value,
): Step {
  return {
    takes: 'number',
    gives: () => 'number',
    run: (row, n, value) => {
      if (typeof value !== 'number') return value;
      const result = run(Decimal.of(value), row, n);
      return result === undefined ? undefined : bounded(settle(result, row, n).toNumber(), row);
    },
    exact: { run, settle },
  };
}

/** The option of steps that says what becomes of a text that they cannot read, or do not know. */
export const FALLBACK = 'otherwise';

/** From here on a number has more digits before its point than it can keep. */
const TOO_LARGE = 1e15;

function bounded(result: number, { line }: SourceRow) {
  if (Math.abs(result) < TOO_LARGE) return result;
  return refuse('number-too-large', 'the calculation gives a number of more than 15 digits', line);
}

/** Adds a step to a pipeline: calculations in a row become one, which is exact from its first number to its result. */
export function addStep(steps: Step[], step: Step): void {
  const first = steps.at(-1)?.exact?.run;
  const then = step.exact;
  if (first === undefined || then === undefined) {
    steps.push(step);
    return;
  }
  const both: Calculation['run'] = (value, row, n) => {
    const between = first(value, row, n);
    return between === undefined ? undefined : then.run(between, row, n);
  };
  steps[steps.length - 1] = calculatingStep(both, then.settle);
}

/** A cell, the steps that are applied to it, and the result: shown in docs/mappings.md and run by the tests. */
export interface TransformExample {
  readonly cell: string;
  /** The steps as a pipeline in a mapping, in YAML. */
  readonly steps: string;
  /** A value or list; undefined for a blank; a moment for a date; or the code that rejects the record. */
  readonly gives:
    | string
    | number
    | boolean
    | readonly string[]
    | undefined
    | { readonly moment: string }
    | { readonly rejects: string };
}

/** A transform: everything that schema, documentation, tests and the compiler need. */
export interface TransformDefinition {
  readonly name: string;
  /** Allows the bare name in a pipeline. */
  readonly word?: { readonly description: string; readonly compile: (context: TransformContext) => Step };
  /** Allows a map: the key of its name and of its options, each with its schema. */
  readonly map?: {
    readonly shape: z.core.$ZodShape;
    readonly compile: (written: unknown, context: TransformContext) => Step;
  };
  readonly examples: readonly TransformExample[];
}

/**
 * Defines a transform. `shape` has the schema of its own key (the transform's name, with its description) and of its
 * options; `compile` gets a map that fits them.
 */
export function defineTransform<Shape extends z.core.$ZodShape>({
  map,
  ...definition
}: Omit<TransformDefinition, 'map'> & {
  readonly map?: {
    readonly shape: Shape;
    readonly compile: (written: z.output<z.ZodObject<Shape>>, context: TransformContext) => Step;
  };
}): TransformDefinition {
  if (map === undefined) return definition;
  const { shape, compile } = map;
  const schema = z.object(shape);
  return {
    ...definition,
    map: { shape, compile: (written, context) => compile(schema.parse(written), context) },
  };
}
