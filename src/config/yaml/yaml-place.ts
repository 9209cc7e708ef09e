import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';

/** The way from the root of a file to a value in it. */
export type Path = readonly PropertyKey[];

/** Where a node begins, counted from the start of the file. */
export function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

interface Entry {
  readonly key: Node | undefined;
  readonly value: Node | undefined;
}

const nodeOf = (part: unknown): Node | undefined => (isNode(part) ? part : undefined);

function entryOf(node: Node, step: PropertyKey): Entry | undefined {
  if (isSeq(node)) {
    const item = nodeOf(node.items[Number(step)]);
    return item === undefined ? undefined : { key: item, value: item };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  return pair === undefined ? undefined : { key: nodeOf(pair.key), value: nodeOf(pair.value) };
}

/** Where a value or its key begins; of what is absent, the nearest thing around it that is there. */
export function offsetOf(document: Document, path: Path, part: 'key' | 'value'): number {
  let node = nodeOf(document.contents);
  let offset = node === undefined ? 0 : startOf(node);
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    const entry = node === undefined ? undefined : entryOf(node, step);
    if (entry === undefined) break;
    const last = depth === path.length - 1;
    const found = part === 'key' && last ? (entry.key ?? entry.value) : (entry.value ?? entry.key);
    if (found !== undefined) offset = startOf(found);
    node = entry.value;
  }
  return offset;
}
