/** Something wrong in a mapping, with the path to it in the file. */
export interface MappingProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Keys and indexes that lead to a place in a mapping file. */
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
