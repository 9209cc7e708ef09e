import type { Path } from '../problems.ts';
import type { Scope } from '../scope.ts';
import { boolean } from '../transforms/boolean.ts';
import { date, dateReader } from '../transforms/date.ts';
import { number, PLAIN_NUMBER } from '../transforms/number.ts';
import { readingStep, type Step } from '../transforms/transform.ts';
import { applySteps } from './apply-steps.ts';
import { isList, itemKind, type Kind, nameOfKind, Unreadable } from './cell.ts';
import type { Expression } from './expression.ts';

/**
 * Brings a value to the kind that its place wants, where that is plain: a text is read as a number, a yes/no word or
 * a date in the usual way, a single item is a list of one. Everything else the mapping must say.
 */
export function coerce(scope: Scope, path: Path, from: Expression, wanted: Kind): Expression {
  if (from.kind === wanted) return placed(scope, from);
  if (`${from.kind}[]` === wanted) {
    const { read } = placed(scope, from);
    return {
      ...from,
      kind: wanted,
      read: (row, n) => {
        const item = read(row, n);
        return item === undefined || item instanceof Unreadable || isList(item) ? item : [item];
      },
    };
  }
  const reading = readingStepFor(scope, from.kind, itemKind(wanted) ?? wanted);
  if (reading !== undefined) {
    const { read } = from;
    const steps = [reading.step];
    const changed: Expression = {
      ...from,
      kind: reading.kind,
      certain: false,
      read: (row, n) => applySteps(steps, read(row, n), row, n),
    };
    return coerce(scope, path, changed, wanted);
  }
  if (wanted === 'text' && (from.kind === 'number' || from.kind === 'boolean')) {
    const { read } = from;
    return {
      ...from,
      kind: 'text',
      read: (row, n) => {
        const value = read(row, n);
        return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
      },
    };
  }
  scope.problems.add(path, `expected ${nameOfKind(wanted)} here, but this gives ${nameOfKind(from.kind)}`);
  return { ...from, kind: wanted, read: () => undefined };
}

/** The usual way to read a text as another kind, and what that makes of a list of texts. */
export function readingStepFor(
  scope: Scope,
  from: Kind,
  wanted: Kind,
): { readonly step: Step; readonly kind: Kind } | undefined {
  const list = from === 'text[]';
  if (from !== 'text' && !list) return undefined;
  switch (wanted) {
    case 'number':
      return { step: number(PLAIN_NUMBER, scope.quote), kind: list ? 'number[]' : 'number' };
    case 'boolean':
      return { step: boolean({}, scope.quote), kind: list ? 'boolean[]' : 'boolean' };
    case 'date': {
      const iso = dateReader('iso');
      return {
        step:
          iso === undefined
            ? readingStep('date', () => undefined)
            : date([iso], 'a date such as 2026-01-31', 'UTC', scope.quote),
        kind: list ? 'date[]' : 'date',
      };
    }
    default:
      return undefined;
  }
}

/** Where only one column is read, what cannot be read is shown in it. */
function placed(scope: Scope, from: Expression): Expression {
  if (from.certain) return from;
  const { read, sources } = from;
  const [name] = sources;
  const column = name === undefined || sources.size > 1 ? undefined : scope.columns.declared.get(name);
  return {
    ...from,
    read: (row, n) => {
      const value = read(row, n);
      if (!(value instanceof Unreadable)) return value;
      const slot = column?.slot ?? column?.family?.slots.get(n);
      return value.at(row.line, slot === undefined ? undefined : row.table.headers[slot]);
    },
  };
}
