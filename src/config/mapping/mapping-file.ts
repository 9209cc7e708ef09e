import type { Place } from '../../model/errors.ts';
import type { Path } from '../yaml/yaml-place.ts';
import type { MappingSpec } from './mapping-spec.ts';

/** A mapping as it was read, and where it stands. */
export interface MappingFile {
  readonly name: string;
  readonly spec: MappingSpec;
  /** Whether it came with Storeferry, rather than from the workspace. */
  readonly shipped: boolean;
  /** The folder that the paths of its lookup files are relative to. */
  readonly dir: string;
  /** Where a part of the mapping stands, for those who find something wrong with it. */
  placeOf(path: Path, part?: 'key' | 'value'): Place;
}
