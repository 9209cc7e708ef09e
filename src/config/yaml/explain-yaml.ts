import type { ErrorCode } from 'yaml';

/** Messages that quote nothing of the file, since it may contain secrets. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'an alias (*name) that no anchor (&name) stands before; quote the text if a plain * is meant',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines above, or a bracket is not closed',
  BAD_SCALAR_START: 'a value that starts with @, ` or % must stand in quotes',
  BLOCK_AS_IMPLICIT_KEY: "a value that holds ': ' must stand in quotes; a list or map begins on its own line",
  BLOCK_IN_FLOW: 'within { } or [ ] every entry is written in the same style; a bracket may be missing',
  DUPLICATE_KEY: 'this key is given a second time; keep one',
  MISSING_CHAR: 'something is missing here: a closing quote, a comma, or a space after a colon',
  MULTILINE_IMPLICIT_KEY: "expected 'key: value'; the colon needs a space after it",
  MULTIPLE_DOCS: 'a second document (---) begins; a file holds one',
  NON_STRING_KEY: 'expected a plain name as the key',
  RESOURCE_EXHAUSTION: 'lists and maps are nested too deeply',
  TAB_AS_INDENT: 'a tab is used for indentation; YAML takes spaces only',
  TAG_RESOLVE_FAILED: 'tags (!name) are not used here; quote the text if a plain ! is meant',
  UNEXPECTED_TOKEN: 'unexpected text; a quote, comma or bracket may be missing, or there is one too many',
};

/** A sentence for an error of the YAML parser; `line` is the text of its line. */
export function explainYaml(code: ErrorCode, line: string): string {
  const message = MESSAGES[code] ?? `this is not valid YAML (${code})`;
  return line.includes('${') && code !== 'DUPLICATE_KEY' && code !== 'TAB_AS_INDENT'
    ? `${message}. Within { } and [ ], and when it holds ': ', a value with \${...} must stand in quotes`
    : message;
}
