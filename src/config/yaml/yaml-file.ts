import { type Document, type ErrorCode, isScalar, LineCounter, type Node, parseDocument, visit } from 'yaml';
import type { ConfigurationProblem, Place } from '../../model/errors.ts';
import { explainYaml } from './explain-yaml.ts';
import { offsetOf, type Path, startOf } from './yaml-place.ts';

/** A YAML file as plain values that remember where they stand. */
export interface YamlFile {
  /** For messages: relative to the workspace. */
  readonly file: string;
  /** Null when the file is empty or not valid. Keys are always text, `01` and `yes` included. */
  readonly content: unknown;
  readonly problems: readonly ConfigurationProblem[];
  /** Where the value stands, or its key; of what is absent, the nearest thing around it that is there. */
  placeOf(path: Path, part: 'key' | 'value'): Place;
}

/** Parses YAML and collects everything that is wrong with it; never throws. */
export function parseYaml(text: string, file: string): YamlFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true });
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
  if (problems.length > 0) return { file, content: null, problems, placeOf };
  try {
    return { file, content: document.toJS(), problems, placeOf };
  } catch {
    const message = 'aliases (*name) repeat too much; write the values out';
    return { file, content: null, problems: [{ place: place(0), message }], placeOf };
  }
}

/** After one syntax error the parser reports unexpected tokens to the end of the file; only the first one helps. */
function withoutAftershocks<T extends { readonly code: ErrorCode }>(errors: readonly T[]): T[] {
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN');
  return errors.filter(({ code }, index) => code !== 'UNEXPECTED_TOKEN' || index === first);
}

/** The same for the rest of a line. */
function firstOfLine(problems: readonly ConfigurationProblem[]): ConfigurationProblem[] {
  const seen = new Set<number | undefined>();
  return problems.filter(({ place }) => {
    const isFirst = !seen.has(place.line);
    seen.add(place.line);
    return isFirst;
  });
}

function byPlace(a: ConfigurationProblem, b: ConfigurationProblem): number {
  return (a.place.line ?? 0) - (b.place.line ?? 0) || (a.place.column ?? 0) - (b.place.column ?? 0);
}

/** Problems of valid YAML that no configuration may use. */
function forbidden(document: Document, place: (offset: number) => Place): ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = [];
  const add = (node: Node, message: string) => problems.push({ place: place(startOf(node)), message });
  visit(document, {
    Alias(_, alias, ancestors) {
      const anchored = alias.resolve(document);
      if (anchored === undefined) add(alias, explainYaml('BAD_ALIAS', ''));
      else if (ancestors.includes(anchored)) add(alias, 'an alias (*name) within the value it stands for');
    },
    Pair(_, { key }) {
      if (isScalar(key) && key.value === '__proto__') add(key, "'__proto__' cannot be a key");
    },
  });
  return problems;
}
