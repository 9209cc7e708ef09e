import type { SourceRow } from '../rows.ts';
import { type Path, resolveName, type Scope, unknownName } from '../scope.ts';
import { cleanCell } from './cell.ts';

/** A text with values filled in; blank when any of them is. `value` is what a pipeline has come to. */
type Template = (row: SourceRow, n: number, value: string) => string | undefined;

/** Compiles `text {column} text {param}`; `{value}` only where a pipeline gives one. */
export function compileTemplate(scope: Scope, path: Path, written: string, hasValue: boolean): Template {
  const parts: Template[] = [];
  let from = 0;
  for (const { 0: whole, 1: name = '', index } of written.matchAll(/\{([^{}]*(?:\{n\})?[^{}]*)\}/g)) {
    const literal = written.slice(from, index);
    if (literal !== '') parts.push(() => literal);
    from = index + whole.length;
    parts.push(hasValue && name === 'value' ? (_row, _n, value) => value : namedPart(scope, path, name));
  }
  const rest = written.slice(from);
  if (rest !== '') parts.push(() => rest);
  return (row, n, value) => {
    let text = '';
    for (const part of parts) {
      const filled = part(row, n, value);
      if (filled === undefined) return undefined;
      text += filled;
    }
    return text;
  };
}

function namedPart(scope: Scope, path: Path, name: string): Template {
  const named = resolveName(scope, name);
  switch (named?.kind) {
    case 'column': {
      const { slot } = named;
      return (row) => cleanCell(row.cells[slot]);
    }
    case 'family': {
      const { slots } = named.family;
      return (row, n) => cleanCell(row.cells[slots.get(n) ?? -1]);
    }
    case 'param': {
      const text = String(named.value);
      return () => text;
    }
    case undefined:
      unknownName(scope, path, name);
      return () => undefined;
    default:
      return named satisfies never;
  }
}
