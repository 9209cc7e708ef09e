import { type FilledText, fillTemplate, parseTemplate } from './placeholder.ts';
import type { Path } from './yaml/yaml-place.ts';

/** Values with their placeholders filled in, and which of them had any. */
export interface FilledValues {
  readonly value: unknown;
  readonly filled: ReadonlyMap<string, FilledText & { readonly path: Path }>;
  /** `${` that begins no placeholder, by where it stands. */
  readonly malformed: readonly Path[];
}

/** A path as one text, for maps. */
export function pathKey(path: Path): string {
  return JSON.stringify(path.map(String));
}

/** Fills in every text within a value; keys stay as they are. The result shares nothing with what was given. */
export function fillValues(value: unknown, lookUp: (name: string) => string | undefined): FilledValues {
  const filled = new Map<string, FilledText & { readonly path: Path }>();
  const malformed: Path[] = [];
  const fill = (part: unknown, path: Path): unknown => {
    if (Array.isArray(part)) return part.map((item, index) => fill(item, [...path, index]));
    if (part !== null && typeof part === 'object') {
      return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, fill(item, [...path, key])]));
    }
    if (typeof part !== 'string' || !part.includes('${')) return part;
    const template = parseTemplate(part);
    if (template === undefined) {
      malformed.push(path);
      return part;
    }
    const result = fillTemplate(template, lookUp);
    if (result.placeholders.length > 0) filled.set(pathKey(path), { ...result, path });
    return result.text;
  };
  return { value: fill(value, []), filled, malformed };
}
