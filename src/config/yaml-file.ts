import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Path } from '../model/json-object.ts';
import type { ConfigurationProblem, Place } from '../model/storeferry-error.ts';
import { errorCode } from '../model/storeferry-error.ts';

/** A YAML file as plain values that remember their places, named relative to the workspace. */
export interface YamlFile {
  /** Null if the file is empty or not valid. Keys are always text, also `01` and `yes`. */
  readonly content: unknown;
  readonly problems: readonly ConfigurationProblem[];
  /** The place of the value or its key; for a missing one, of the nearest existing parent. */
  placeOf(path: Path, part: 'key' | 'value'): Place;
}

/** What a file with this checksum contains. */
export interface KnownContent {
  readonly sha256: string;
  readonly content: unknown;
}

/**
 * The bytes of a file as YAML; undefined if there is no such file. Errors are among its problems. A file with the checksum of `known`
 * is parsed only when a place in it is asked for.
 */
export function readYaml(path: string, file: string, known?: KnownContent): YamlFile | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' ? undefined : unreadable(file, `the file cannot be read (${code})`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (known === undefined || known.sha256 !== hash('sha256', bytes)) return parseYaml(text, file);
    const { content } = known;
    return { content, problems: [], placeOf: (...at) => parseYaml(text, file).placeOf(...at) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return unreadable(file, 'the file is not in UTF-8; save it as UTF-8');
  }
}

/** Parses YAML and collects all problems; never throws. */
export function parseYaml(text: string, file: string): YamlFile {
  const lineCounter = new LineCounter();
  // The parser takes quadratic time to compare keys; `forbidden` finds those that occur twice.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false };
  const document = withoutStacks(() => parseDocument(text, options));
  const place = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const placeOf = (path: Path, part: 'key' | 'value') => place(offsetOf(document, path, part));
  const lines = text.split('\n');
  const errors = withoutAftershocks([...document.errors, ...document.warnings]).map(({ code, pos }) => {
    const at = place(pos[0]);
    return { place: at, message: explainYaml(code, lines[(at.line ?? 1) - 1] ?? '') };
  });
  const problems = [...firstOfLine(errors), ...forbidden(document, place)].toSorted(byPlace);
  if (problems.length > 0) return { content: null, problems, placeOf };
  try {
    return { content: document.toJS(), problems, placeOf };
  } catch {
    const message = 'aliases (*name) repeat too much; write the values out';
    return { content: null, problems: [{ place: place(0), message }], placeOf };
  }
}

/** The parser makes an error of each token that it does not expect: of fifty thousand, the stacks take most of a second. */
function withoutStacks<T>(parse: () => T) {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return parse();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function unreadable(file: string, message: string): YamlFile {
  return { content: null, problems: [{ place: { file }, message }], placeOf: () => ({ file }) };
}

/** After one syntax error the parser reports unexpected tokens to the end of the file; only the first one helps. */
function withoutAftershocks<T extends { readonly code: ErrorCode }>(errors: readonly T[]) {
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN');
  return errors.filter(({ code }, index) => code !== 'UNEXPECTED_TOKEN' || index === first);
}

/** The same for the rest of a line. */
function firstOfLine(problems: readonly ConfigurationProblem[]) {
  const seen = new Set<number | undefined>();
  return problems.filter(({ place }) => {
    const isFirst = !seen.has(place.line);
    seen.add(place.line);
    return isFirst;
  });
}

function byPlace(a: ConfigurationProblem, b: ConfigurationProblem) {
  return (a.place.line ?? 0) - (b.place.line ?? 0) || (a.place.column ?? 0) - (b.place.column ?? 0);
}

/** Problems of valid YAML that configurations must not use. */
function forbidden(document: Document, place: (offset: number) => Place) {
  const problems: ConfigurationProblem[] = [];
  const add = (node: Node, message: string) => problems.push({ place: place(startOf(node)), message });
  // `Alias.resolve` searches the whole document each time.
  const anchors = new Map<string, Node>();
  const keepAnchor = (node: Scalar | YAMLMap | YAMLSeq) => {
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
  };
  visit(document, {
    Scalar: (_, scalar) => keepAnchor(scalar),
    Seq: (_, list) => keepAnchor(list),
    Alias(_, alias, ancestors) {
      const anchored = anchors.get(alias.source);
      if (anchored === undefined) add(alias, explainYaml('BAD_ALIAS', ''));
      else if (ancestors.includes(anchored)) add(alias, 'an alias (*name) inside its own value');
    },
    Map(_, map) {
      keepAnchor(map);
      const { items } = map;
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) add(key, explainYaml('DUPLICATE_KEY', ''));
        seen.add(key.value);
      }
    },
    Pair(_, { key }) {
      if (isScalar(key) && key.value === '__proto__') add(key, "'__proto__' cannot be a key");
    },
  });
  return problems;
}

/** A sentence for an error of the YAML parser; `line` is the text of its line. */
function explainYaml(code: ErrorCode, line: string) {
  const message = MESSAGES[code] ?? `this is not valid YAML (${code})`;
  return line.includes('${') && code !== 'DUPLICATE_KEY' && code !== 'TAB_AS_INDENT'
    ? `${message}. Within { } and [ ], and if it contains ': ', a value with \${...} must be in quotes`
    : message;
}

/** The offset of a node from the start of the file. */
function startOf(node: Node) {
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

/** The place of a value or its key; for a missing one, of the nearest existing parent. */
function offsetOf(document: Document, path: Path, part: 'key' | 'value') {
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

/** Messages that quote nothing of the file, because it may contain secrets. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'an alias (*name) without an anchor (&name) before it; quote the text if a plain * is meant',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines above, or a bracket is not closed',
  BAD_SCALAR_START: 'a value that starts with @, ` or % must be in quotes',
  BLOCK_AS_IMPLICIT_KEY: "a value that contains ': ' must be in quotes; a list or map begins on its own line",
  BLOCK_IN_FLOW: 'within { } or [ ] all entries must have the same style; a bracket may be missing',
  DUPLICATE_KEY: 'this key occurs twice; keep one',
  MISSING_CHAR: 'something is missing here: a closing quote, a comma, or a space after a colon',
  MULTILINE_IMPLICIT_KEY: "expected 'key: value'; the colon needs a space after it",
  MULTIPLE_DOCS: 'a second document (---) begins; a file has one',
  NON_STRING_KEY: 'expected a plain name as the key',
  RESOURCE_EXHAUSTION: 'lists and maps are nested too deeply',
  TAB_AS_INDENT: 'a tab is used for indentation; YAML takes spaces only',
  TAG_RESOLVE_FAILED: 'tags (!name) are not used here; quote the text if a plain ! is meant',
  UNEXPECTED_TOKEN: 'unexpected text; look for a missing or extra quote, comma or bracket',
};
