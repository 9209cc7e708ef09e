import type { ChildrenSpec } from '../../config/mapping/mapping-group.ts';

/** A child as the cell of its parent names it. */
export interface ChildReference {
  readonly name: string;
  /** Its options by code. */
  readonly options: ReadonlyMap<string, string>;
}

/** Reads `sku=A,size=XS|sku=B,size=S`. A piece without `=` belongs to the value before it (`size=10,5 cm`). */
export function parseChildren(cell: string, spec: ChildrenSpec): readonly ChildReference[] {
  const references: ChildReference[] = [];
  for (const item of cell.split(spec.items)) {
    if (item.trim() === '') continue;
    if (spec.reference === undefined) {
      references.push({ name: item.trim(), options: new Map() });
      continue;
    }
    const pairs = parsePairs(item, spec);
    const name = pairs.get(spec.reference);
    if (name !== undefined) {
      pairs.delete(spec.reference);
      for (const other of spec.except ?? []) pairs.delete(other);
      references.push({ name, options: pairs });
    }
  }
  return references;
}

/** Reads `code=value,code=value`. */
export function parsePairs(text: string, spec: ChildrenSpec): Map<string, string> {
  const pairs = new Map<string, string>();
  let last: string | undefined;
  for (const piece of text.split(spec.pairs)) {
    const at = piece.indexOf(spec.equals);
    if (at < 0) {
      if (last !== undefined) pairs.set(last, `${pairs.get(last)}${spec.pairs}${piece.trimEnd()}`);
      continue;
    }
    last = piece.slice(0, at).trim();
    pairs.set(last, piece.slice(at + spec.equals.length).trim());
  }
  return pairs;
}
