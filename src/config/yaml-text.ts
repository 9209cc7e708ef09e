import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import {
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  parse,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { type Path, pathKey, setValueAt, valueAt } from '../model/json-object.ts';
import { errorCode, UsageError } from '../model/storeferry-error.ts';

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

function readsAs(written: string, text: string) {
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

/** A change of a YAML file. */
export type YamlEdit =
  /**
   * Sets a text, as a file writes it, or a number. Undefined removes the key or the item, and its map or list if nothing else is in it. A text keeps
   * the placeholders that the value has in the file, none if it is `foreign`: meant for another server. Any other `${` becomes text.
   */
  | { readonly set: Path; readonly to: string | number | undefined; readonly foreign?: true }
  /** Sets texts, lists and maps, without placeholders. The number after the last item of a list adds one. */
  | { readonly set: Path; readonly value: unknown }
  /** Makes a list of a value: its only item. */
  | { readonly list: string }
  /** Sets texts and maps as a file writes them: their placeholders are none that a visitor has typed. */
  | { readonly set: Path; readonly template: unknown }
  /** Turns the lines of a key of the file into comments, or back, or removes these comments. */
  | { readonly pause: string }
  | { readonly resume: string }
  | { readonly dropPaused: string };

/** Before each line of a paused key. */
const PAUSED = '# paused: ';

/**
 * Changes the named keys of a YAML file and leaves every other byte as it is: comments, order, blank lines, quotes, line ends. It
 * cuts at the places that the YAML parser gives. UsageError, if the result would not be exactly what was asked for.
 */
export function editYaml(text: string, edits: readonly YamlEdit[]): string {
  const bom = text.startsWith(BOM) ? BOM : '';
  let edited = text.slice(bom.length);
  for (const edit of edits) {
    const wanted = plain(edited);
    edited = applied(edited, edit, wanted);
    if (!isDeepStrictEqual(plain(edited), wanted)) throw unsupportedYaml();
  }
  return bom + edited;
}

const BOM = '\uFEFF';

/** The paused part of a file under a key, as YAML; undefined if there is none. */
export function pausedPart(text: string, key: string): unknown {
  const lines = pausedLines(text, key).map(({ from, to }) => text.slice(from + PAUSED.length, to));
  return lines.length === 0 ? undefined : valueAt(plain(lines.join('')), [key]);
}

function unsupportedYaml() {
  return new UsageError('The file is written in a way that the form cannot change safely.', {
    hint: 'Edit the file itself.',
  });
}

/** Applies one edit to the text, and to its plain content. */
function applied(text: string, edit: YamlEdit, wanted: unknown) {
  if ('value' in edit || 'template' in edit) {
    const value = 'value' in edit ? flow(edit.value) : flow(edit.template, yamlTemplate);
    setDeep(wanted, edit.set, valueAt(plain(`v: ${value}`), ['v']));
    return withValue(text, edit.set, () => value);
  }
  if ('set' in edit) {
    const path = edit.to === undefined ? emptied(wanted, edit.set) : edit.set;
    const before = edit.foreign === true ? undefined : valueAt(wanted, edit.set);
    const to = typeof edit.to === 'string' ? keepPlaceholders(edit.to, before) : edit.to;
    setDeep(wanted, path, to);
    return to === undefined ? withoutKey(text, path) : withValue(text, path, writer(to));
  }
  if ('list' in edit) {
    setValueAt(wanted, [edit.list], [valueAt(wanted, [edit.list])]);
    return asList(text, edit.list);
  }
  if ('pause' in edit) {
    setValueAt(wanted, [edit.pause], undefined);
    const { from, to } = linesOfPair(text, pairAt(text, [edit.pause]).pair);
    const lines = text.slice(from, to).replaceAll(/[^\n]*\n|[^\n]+/g, (line) => PAUSED + line);
    return withoutPaused(text.slice(0, from), edit.pause) + lines + withoutPaused(text.slice(to), edit.pause);
  }
  if ('resume' in edit) {
    setValueAt(wanted, [edit.resume], pausedPart(text, edit.resume));
    return replaced(text, pausedLines(text, edit.resume), (line) => line.slice(PAUSED.length));
  }
  return withoutPaused(text, edit.dropPaused);
}

/** The content without the sharing of aliases. */
function plain(text: string): unknown {
  const document = parseDocument(text, { stringKeys: true });
  if (document.errors.length > 0) throw unsupportedYaml();
  return JSON.parse(JSON.stringify(document.toJS() ?? {}));
}

function setDeep(root: unknown, path: Path, to: unknown) {
  for (const depth of to === undefined ? [] : path.slice(0, -1).keys()) {
    const parent = path.slice(0, depth + 1);
    if ((valueAt(root, parent) ?? null) === null) setValueAt(root, parent, {});
  }
  const parent = valueAt(root, path.slice(0, -1));
  if (to === undefined && Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
  else setValueAt(root, path, to);
}

/** The path to remove instead of this one: the outermost map or list that would be empty without it. */
function emptied(content: unknown, path: Path): Path {
  const parent = path.slice(0, -1);
  const holds = valueAt(content, parent);
  const isOnly = typeof holds === 'object' && holds !== null && Object.keys(holds).length === 1;
  return parent.length > 0 && isOnly ? emptied(content, parent) : path;
}

/** The text with something else, or nothing, in place of what is between two places. */
function splice(text: string, from: number, to: number, instead = '') {
  return text.slice(0, from) + instead + text.slice(to);
}

function findPair(map: YAMLMap, key: PropertyKey | undefined) {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(key));
}

function rootOf(text: string): YAMLMap {
  const { contents } = parseDocument(text, { stringKeys: true });
  if (!isMap(contents)) throw unsupportedYaml();
  return contents;
}

function pairAt(text: string, path: Path) {
  const map = nodeAt(text, path.slice(0, -1));
  const pair = isMap(map) ? findPair(map, path.at(-1)) : undefined;
  if (!isMap(map) || pair === undefined) throw unsupportedYaml();
  return { map, pair };
}

function nodeAt(text: string, path: Path) {
  let node: unknown = rootOf(text);
  for (const key of path) {
    if (isSeq(node)) node = node.items[Number(key)];
    else node = isMap(node) ? findPair(node, key)?.value : undefined;
  }
  return node;
}

function nodeRange(node: unknown): readonly [number, number] {
  if (!isNode(node) || !node.range) throw unsupportedYaml();
  return [node.range[0], node.range[1]];
}

/** Where a key and its value begin and end, without comments after them. */
function pairRange({ key, value }: Pair): readonly [number, number] {
  return [nodeRange(key)[0], value === null ? nodeRange(key)[1] : endOf(value)];
}

function endOf(node: unknown): number {
  if (isSeq(node) && node.flow !== true && node.items.length > 0) return endOf(node.items.at(-1));
  const last = isMap(node) && node.flow !== true ? node.items.at(-1) : undefined;
  return last === undefined ? nodeRange(node)[1] : pairRange(last)[1];
}

/** The start of the line after the one where something ends. */
function lineAfter(text: string, end: number) {
  if (end > 0 && text[end - 1] === '\n') return end;
  const at = text.indexOf('\n', end);
  return at < 0 ? text.length : at + 1;
}

function linesOfPair(text: string, pair: Pair) {
  const [start, end] = pairRange(pair);
  return { from: text.lastIndexOf('\n', start - 1) + 1, to: lineAfter(text, end) };
}

/** The text of a value, in place of one that is there. */
type Write = (before?: unknown) => string;

function withValue(text: string, path: Path, write: Write) {
  let parent: unknown = rootOf(text);
  for (const [depth, key] of path.entries()) {
    const rest = path.slice(depth + 1);
    const node = isSeq(parent)
      ? parent.items[Number(key)]
      : isMap(parent)
        ? findPair(parent, key)
        : undefined;
    if (node === undefined) {
      if (isSeq(parent)) return withItem(text, parent, nested(rest, write));
      if (!isMap(parent)) throw unsupportedYaml();
      return withPair(text, parent, String(key), nested(rest, write), depth === 0);
    }
    const value: unknown = isPair(node) ? node.value : node;
    if (rest.length > 0 && (isMap(value) || isSeq(value))) {
      parent = value;
      continue;
    }
    if (rest.length > 0 && value !== null && !isScalar(value)) throw unsupportedYaml();
    const [start, end] =
      value === null && isPair(node) ? [pairRange(node)[1], pairRange(node)[1]] : nodeRange(value);
    const before = start === end && text[start - 1] === ':' ? ' ' : '';
    const after = text.slice(start, end).endsWith('\n') ? eolOf(text) : '';
    const written = rest.length > 0 ? nested(rest, write) : write(value);
    return splice(text, start, end, before + written + after);
  }
  throw unsupportedYaml();
}

/** Adds an item at the end of a list. */
function withItem(text: string, list: YAMLSeq, value: string) {
  const [first, last] = [list.items[0], list.items.at(-1)];
  if (list.flow === true || first === undefined) {
    const [start, end] = nodeRange(list);
    return last === undefined
      ? splice(text, start, end, `[${value}]`)
      : splice(text, endOf(last), endOf(last), `, ${value}`);
  }
  const at = lineAfter(text, endOf(last));
  const line = text.slice(text.lastIndexOf('\n', nodeRange(first)[0] - 1) + 1);
  const [dash = ''] = /^\s*-/.exec(line) ?? [];
  const eol = eolOf(text);
  const before = at > 0 && text[at - 1] !== '\n' ? eol : '';
  return splice(text, at, at, `${before}${dash} ${value}${eol}`);
}

function withoutItem(text: string, list: YAMLSeq, index: number) {
  const { [index - 1]: previous, [index]: item, [index + 1]: next } = list.items;
  const [start, end] = [nodeRange(item)[0], endOf(item)];
  if (list.flow !== true) return splice(text, text.lastIndexOf('\n', start - 1) + 1, lineAfter(text, end));
  if (next !== undefined) return splice(text, start, nodeRange(next)[0]);
  return splice(text, previous === undefined ? start : endOf(previous), end);
}

/** The text with the value of a key as the only item of a list. */
function asList(text: string, key: string) {
  const { value } = pairAt(text, [key]).pair;
  const [start] = nodeRange(value);
  const end = endOf(value);
  if (!isMap(value) || value.flow === true) return splice(text, start, end, `[${text.slice(start, end)}]`);
  return splice(text, start, end, `- ${text.slice(start, end).replaceAll(/\n(?=[^\r\n])/g, '\n  ')}`);
}

function nested(path: Path, write: Write) {
  return path.reduceRight<string>((value, key) => `{ ${yamlTemplate(String(key))}: ${value} }`, write());
}

function writer(to: string | number): Write {
  return (before) => {
    if (typeof to === 'number') return String(to);
    const wasQuoted = isScalar(before) && (before.type === 'QUOTE_DOUBLE' || before.type === 'QUOTE_SINGLE');
    if (wasQuoted) return JSON.stringify(to);
    return /^\d+(\.\d+)?%$/.test(to) ? to : yamlTemplate(to);
  };
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** Adds a key: at the end of its map, or in the file after a comment that shows the same key. */
function withPair(text: string, map: YAMLMap, key: string, value: string, inRoot: boolean) {
  const line = `${yamlTemplate(key)}: ${value}`;
  const last = map.items.at(-1);
  if (map.flow === true) {
    if (last === undefined) {
      const [start, end] = nodeRange(map);
      return splice(text, start, end, `{ ${line} }`);
    }
    const [, end] = pairRange(last);
    return splice(text, end, end, `, ${line}`);
  }
  const [first] = map.items;
  if (first === undefined || last === undefined) throw unsupportedYaml();
  const shown = inRoot ? new RegExp(`^# ?${RegExp.escape(key)}:`, 'm').exec(text) : null;
  const at = shown === null ? lineAfter(text, pairRange(last)[1]) : lineAfter(text, shown.index + 1);
  const { from } = linesOfPair(text, first);
  // The first key of an item is beside its dash.
  const indent = text.slice(from, pairRange(first)[0]).replaceAll('-', ' ');
  const eol = eolOf(text);
  const before = at > 0 && text[at - 1] !== '\n' ? eol : '';
  return splice(text, at, at, `${before}${indent}${line}${eol}`);
}

function withoutKey(text: string, path: Path) {
  const list = nodeAt(text, path.slice(0, -1));
  if (isSeq(list)) return withoutItem(text, list, Number(path.at(-1)));
  const { map, pair } = pairAt(text, path);
  if (map.flow !== true) {
    const { from, to } = linesOfPair(text, pair);
    return splice(text, from, to);
  }
  const index = map.items.indexOf(pair);
  const [previous, next] = [map.items[index - 1], map.items[index + 1]];
  const [start, end] = pairRange(pair);
  if (next !== undefined) return splice(text, start, pairRange(next)[0]);
  return splice(text, previous === undefined ? start : pairRange(previous)[1], end);
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The lines of a key that is paused: consecutive ones, of which the first has the key. */
function pausedLines(text: string, key: string) {
  const first = new RegExp(`^${PAUSED}${RegExp.escape(key)}:`, 'm').exec(text);
  const spans: Span[] = [];
  let from = first?.index ?? text.length;
  while (text.startsWith(PAUSED, from)) {
    const to = lineAfter(text, from + 1);
    spans.push({ from, to });
    from = to;
  }
  return spans;
}

function withoutPaused(text: string, key: string) {
  return replaced(text, pausedLines(text, key), () => '');
}

function replaced(text: string, spans: readonly Span[], by: (line: string) => string) {
  const [first, last] = [spans[0], spans.at(-1)];
  if (first === undefined || last === undefined) return text;
  const lines = spans.map(({ from, to }) => by(text.slice(from, to))).join('');
  return splice(text, first.from, last.to, lines);
}
