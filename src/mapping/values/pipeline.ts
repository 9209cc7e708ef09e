import type { Transform } from '../../config/mapping/mapping-transform.ts';
import type { Path } from '../problems.ts';
import type { Scope } from '../scope.ts';
import { compileTransform } from '../transforms/compile-transform.ts';
import type { Step } from '../transforms/transform.ts';
import { itemKind, type Kind, nameOfKind } from './cell.ts';
import { readingStepFor } from './coerce.ts';

/** Compiles the transforms of a pipeline, and checks that each can work on what the one before gives. */
export function compileSteps(
  scope: Scope,
  from: Kind,
  transforms: readonly { readonly path: Path; readonly transform: Transform }[],
): { readonly steps: readonly Step[]; readonly kind: Kind } {
  const steps: Step[] = [];
  let kind = from;
  for (const { path, transform } of transforms) {
    const step = compileTransform(scope, path, transform);
    const reading = step.takes === 'number' ? readingStepFor(scope, kind, 'number') : undefined;
    if (reading !== undefined) {
      steps.push(reading.step);
      kind = reading.kind;
    }
    const next = kindAfter(step, kind);
    if (next === undefined) {
      scope.problems.add(
        path,
        `${nameOf(transform)} works on ${nameOfKind(step.takes === 'any' ? 'text' : step.takes)}, but is given ${nameOfKind(kind)}`,
      );
      return { steps, kind };
    }
    steps.push(step);
    kind = next;
  }
  return { steps, kind };
}

/** The kind that comes out; undefined when the step cannot work on what goes in. */
function kindAfter(step: Step, given: Kind): Kind | undefined {
  if (step.takes === 'any') return step.gives(given);
  if (step.takes === 'text[]') return given === 'text[]' ? step.gives(given) : undefined;
  if (given === step.takes) return step.gives(given);
  if (itemKind(given) !== step.takes) return undefined;
  const item = step.gives(step.takes);
  return itemKind(item) === undefined ? asList(item) : item;
}

function asList(kind: Kind): Kind {
  switch (kind) {
    case 'text':
      return 'text[]';
    case 'number':
      return 'number[]';
    case 'boolean':
      return 'boolean[]';
    case 'date':
      return 'date[]';
    default:
      return kind;
  }
}

function nameOf(transform: Transform): string {
  return typeof transform === 'string' ? transform : (Object.keys(transform)[0] ?? 'this');
}
