import type { MappingSpec } from '../config/mapping/mapping-spec.ts';
import { didYouMean } from '../model/nearest.ts';
import type { Problems } from './problems.ts';
import type { Param } from './scope.ts';

/** The values of a mapping's params. `set` is what a job says; undefined in a check, where no job is known. */
export function paramsOf(
  spec: MappingSpec,
  set: Readonly<Record<string, Param>> | undefined,
  problems: Problems,
): ReadonlyMap<string, Param> {
  const declared = new Map(Object.entries(spec.params ?? {}));
  for (const problem of checkParams(spec, set ?? {}, set !== undefined)) {
    problems.add(problem.path, problem.message);
  }
  const given = new Map(Object.entries(set ?? {}));
  return new Map(
    [...declared].map(([name, param]) => {
      const fallback = typeof param === 'object' ? param.default : param;
      return [name, given.get(name) ?? fallback ?? ''];
    }),
  );
}

/** What is wrong with the params that a job sets, with paths under `params`. */
export function checkParams(
  spec: MappingSpec,
  set: Readonly<Record<string, Param>>,
  complete = true,
): readonly { readonly path: readonly (string | number)[]; readonly message: string }[] {
  const declared = new Map(Object.entries(spec.params ?? {}));
  const unknown = Object.keys(set).filter((name) => !declared.has(name));
  const given = new Set(Object.keys(set));
  const unset = [...declared].flatMap(([name, param]) =>
    complete && typeof param === 'object' && param.default === undefined && !given.has(name) ? [name] : [],
  );
  return [
    ...unknown.map((name) => ({
      path: ['params', name],
      message: `the mapping has no param ${name}${didYouMean(name, [...declared.keys()])}`,
    })),
    ...unset.map((name) => ({ path: ['params', name], message: `the job must set the param ${name}` })),
  ];
}
