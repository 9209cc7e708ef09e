import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const ROOT = join(import.meta.dirname, '..', '..');

/** A regular expression of the program. */
export interface FoundPattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

/** The regular expressions of src/ that are written as literals, and the files that construct others, with the number of such places. */
export function findPatterns(): {
  readonly literals: readonly FoundPattern[];
  readonly constructing: ReadonlyMap<string, number>;
} {
  const literals: FoundPattern[] = [];
  const constructing = new Map<string, number>();
  for (const path of globSync(join(ROOT, 'src', '**', '*.{ts,js}'))) {
    const file = relative(ROOT, path);
    visit(parseAst(readFileSync(path, 'utf8'), { lang: 'ts' }), (node) => {
      const { regex, callee } = node;
      if (isObject(regex)) {
        literals.push({ file, source: String(regex['pattern']), flags: String(regex['flags']) });
      }
      if (isObject(callee) && callee['name'] === 'RegExp') {
        constructing.set(file, (constructing.get(file) ?? 0) + 1);
      }
    });
  }
  return { literals, constructing };
}

function visit(node: unknown, look: (node: Record<string, unknown>) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, look);
  else if (isObject(node)) {
    look(node);
    for (const child of Object.values(node)) visit(child, look);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/**
 * Calls the function and returns the regular expressions that files of src/ construct meanwhile. The files must be
 * loaded by the function, since most construct when they are loaded.
 */
export async function constructedDuring(load: () => Promise<void>): Promise<readonly FoundPattern[]> {
  const found: FoundPattern[] = [];
  const original = globalThis.RegExp;
  const record = (made: RegExp) => {
    const file = /\/(src\/[^\s:?)]+)/.exec(new Error().stack?.replaceAll(ROOT, '') ?? '')?.[1];
    if (file !== undefined) found.push({ file, source: made.source, flags: made.flags });
    return made;
  };
  globalThis.RegExp = new Proxy(original, {
    construct: (target, [pattern, flags]) => record(new target(pattern, flags)),
    apply: (target, _, [pattern, flags]) => record(target(pattern, flags)),
  });
  try {
    await load();
  } finally {
    globalThis.RegExp = original;
  }
  return found;
}
