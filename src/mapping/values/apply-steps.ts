import type { SourceRow } from '../source-row.ts';
import type { Step } from '../transforms/transform.ts';
import { type Cell, type Item, isList, type Present, Unreadable } from './cell.ts';

/** Sends a value through the steps; blanks and what cannot be read go past those that do not want them. */
export function applySteps(steps: readonly Step[], from: Cell, row: SourceRow, n: number): Cell {
  let value = from;
  for (const step of steps) {
    if (value === undefined) value = step.blank?.();
    else if (value instanceof Unreadable) return value;
    else value = applyStep(step, value, row, n);
  }
  return value;
}

/** Runs a step on a value, or on each item of a list. */
export function applyStep(step: Step, value: Present, row: SourceRow, n: number): Cell {
  if (!isList(value) || step.takes === 'text[]') return step.run(value, row, n);
  const items: Item[] = [];
  for (const item of value) {
    const result = step.run(item, row, n);
    if (result instanceof Unreadable) return result;
    if (result === undefined) continue;
    if (isList(result)) items.push(...result);
    else items.push(result);
  }
  return items.length === 0 ? undefined : items;
}
