import type { Path } from './yaml/yaml-place.ts';

/** A field whose value is a secret; `refused`: it may come from the environment only. */
export interface SecretField {
  readonly path: Path;
  readonly literal: 'refused' | 'allowed';
  /** A fitting name for the variable, to be proposed. */
  readonly variable?: string;
}
