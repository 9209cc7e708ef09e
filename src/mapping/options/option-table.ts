import type { SourceRow } from '../rows.ts';

/** What the variant rows of a product choose, before it is known which options the product has. */
export interface OptionTable {
  readonly names: readonly string[];
  /** For each variant row its value of each option; undefined where it has none. */
  readonly choices: readonly (readonly (string | undefined)[])[];
  /** For each option the values that the head row lists, in the order to show them; empty where it lists none. */
  readonly listed: readonly (readonly string[])[];
  readonly rows: readonly SourceRow[];
}

/** A variant with its values in option order; `row` is the index of the row it comes from. */
export interface Choice {
  readonly row: number;
  readonly values: readonly string[];
}
