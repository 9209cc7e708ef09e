import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Path, pathKey } from '../model/json-object.ts';
import { errorCode } from '../model/storeferry-error.ts';

/** A text for a YAML file of a workspace: quoted only if necessary, and never a placeholder. */
export function yamlText(text: string): string {
  return yamlTemplate(escapePlaceholders(text));
}

/** The same for a text that may have placeholders, and for keys, which have none. */
export function yamlTemplate(literal: string): string {
  return /^[\p{L}\p{N}_./][\p{L}\p{N}_./@+() -]*$/u.test(literal) && readsAs(literal, literal)
    ? literal
    : JSON.stringify(literal);
}

/** A value as YAML in one line; `write`: its texts, which by default have no placeholders. */
export function flow(value: unknown, write = yamlText): string {
  if (typeof value === 'string') return write(value);
  if (Array.isArray(value)) return `[${value.map((one) => flow(one, write)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${yamlTemplate(key)}: ${flow(one, write)}`);
  return `{ ${entries.join(', ')} }`;
}

function readsAs(written: string, text: string): boolean {
  try {
    return parse(written) === text;
  } catch {
    return false;
  }
}

/** The line by which editors find the JSON Schema of a file, `up` folders below the workspace. */
export function schemaLine(schema: 'stores' | 'job' | 'mapping', up: '' | '../'): string {
  return `# yaml-language-server: $schema=${up}${SCHEMA_FOLDER}/${schema}.schema.json`;
}

/** The folder for the schemas of a new workspace's files. */
export const SCHEMA_FOLDER = 'schemas';

/** A place in a value that the environment fills. */
interface Placeholder {
  /** As written, such as `${PORT:8080}`. */
  readonly source: string;
  readonly name: string;
  readonly fallback: string | undefined;
}

/** A text as literal parts and placeholders. */
export type Template = readonly (string | Placeholder)[];

const TOKEN = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}|\$\{/g;

/**
 * Reads `${NAME}` and `${NAME:default}`; `$${` is a literal `${`. The default begins after the first colon, ends at
 * the first `}` and may be empty. All other text is literal, and inserted values are not read again. Undefined if a
 * `${` begins no placeholder.
 */
export function parseTemplate(text: string): Template | undefined {
  const parts: (string | Placeholder)[] = [];
  let plain = '';
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    plain += text.slice(from, match.index);
    from = match.index + match[0].length;
    const [source, name, fallback] = match;
    if (source === '$${') {
      plain += '${';
    } else if (name === undefined || fallback?.includes('${')) {
      return undefined;
    } else {
      if (plain !== '') parts.push(plain);
      plain = '';
      parts.push({ source, name, fallback });
    }
  }
  plain += text.slice(from);
  if (plain !== '') parts.push(plain);
  return parts;
}

/** A placeholder as it is written in a file. */
export function placeholder(name: string, fallback?: string): string {
  return `\${${fallback === undefined ? name : `${name}:${fallback}`}}`;
}

/** A text as a file writes it: without placeholders. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/**
 * A template from somebody who must not name variables: it keeps the placeholders that `before`, the value in the file, has
 * exactly so. Any other `${` becomes text.
 */
export function keepPlaceholders(template: string, before: unknown): string {
  const parts = typeof before === 'string' ? (parseTemplate(before) ?? []) : [];
  const kept = parts.flatMap((part) => (typeof part === 'string' ? [] : [RegExp.escape(part.source)]));
  const tokens = new RegExp([String.raw`\$\$\{`, ...kept, String.raw`\$\{`].join('|'), 'g');
  return template.replaceAll(tokens, (token) => (token === '${' ? '$${' : token));
}

/** A value with its placeholders filled in. */
export type FilledText = ReturnType<typeof fillTemplate>;

/** Fills in what `lookUp` knows; undefined means unset. */
export function fillTemplate(parts: Template, lookUp: (name: string) => string | undefined) {
  const placeholders = parts.filter((part) => typeof part !== 'string');
  /** Names without value and default; in `text` their placeholders are unchanged. */
  const unset: string[] = [];
  const text = parts.map((part) => {
    if (typeof part === 'string') return part;
    const value = lookUp(part.name) ?? part.fallback;
    if (value === undefined) unset.push(part.name);
    return value ?? part.source;
  });
  return {
    text: text.join(''),
    placeholders,
    unset,
    /** Whether the value is a single placeholder: then it may become a number, or nothing. */
    whole: parts.length === 1 && placeholders.length === 1,
  };
}

/** Values with their placeholders filled in, and which of them had placeholders. */
export type FilledValues = ReturnType<typeof fillValues>;

/** Fills in every text within a value; keys are unchanged. The result shares nothing with the input. */
export function fillValues(value: unknown, lookUp: (name: string) => string | undefined) {
  const filled = new Map<string, FilledText & { readonly path: Path }>();
  /** Each `${` that begins no placeholder, by its position. */
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

/**
 * The content of a data file of this package, beside the module with the address `beside`: as `npm run build` has written it into
 * `dist/`, without parsing YAML, or from the sources.
 */
export function readPackedYaml(name: string, beside: string): unknown {
  try {
    return JSON.parse(readFileSync(new URL(`data/${name}.json`, beside), 'utf8'));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return parse(readFileSync(new URL(`${name}.yaml`, beside), 'utf8'));
  }
}
