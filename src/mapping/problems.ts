import { closest, distance } from 'fastest-levenshtein';

/** Something wrong in a mapping, with the path to it in the file. */
export interface MappingProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export type Path = readonly (string | number)[];

/** What a check finds on its way through a mapping. */
export class Problems {
  readonly #found: MappingProblem[] = [];

  add(path: Path, message: string): void {
    this.#found.push({ path, message });
  }

  get found(): readonly MappingProblem[] {
    return this.#found;
  }
}

/** `; did you mean x?` where one of the names is near, otherwise nothing. */
export function nearest(name: string, names: readonly string[]): string {
  const found = names.length === 0 ? undefined : closest(name, [...names]);
  const near = found !== undefined && distance(name, found) <= Math.max(2, Math.floor(name.length / 3));
  return near ? `; did you mean ${found}?` : '';
}
