import { pathKey } from '../fill-values.ts';
import { valueAt } from '../value-at.ts';
import type { Path } from '../yaml/yaml-place.ts';
import { describeValue } from './describe-value.ts';
import type { Finding } from './explain-issues.ts';

/** What a finding is about. */
export interface Subject {
  /** The value that was parsed, and where in its file it stands. */
  readonly root: unknown;
  readonly at: Path;
  /** What the environment filled in, and what must not be quoted; both by the keys of the paths. */
  readonly placeholders: ReadonlyMap<string, string>;
  readonly secret: ReadonlySet<string>;
}

/**
 * The message for people: where, what was expected, what was found, what to do. It quotes nothing that came from the
 * environment and nothing of a secret field.
 */
export function wordFinding({ path, part, message, hint }: Finding, subject: Subject): string {
  const name = [...subject.at, ...path].map(String).join('.');
  const label = part === 'key' || name === '' ? '' : `${name}: `;
  if (!message.startsWith('expected ')) return label + message + hint;
  const found = valueAt(subject.root, path);
  const key = pathKey(path);
  const placeholders = subject.placeholders.get(key);
  if (placeholders !== undefined) {
    return `${label}${message}, found ${found === undefined ? 'no value in' : 'the value of'} ${placeholders}`;
  }
  if (name === '' && found === null) return `the file is empty; ${message}`;
  if (found === undefined) return `'${name}' is missing; ${message}`;
  const isText = typeof found === 'string' && /^expected a (map|list)/.test(message);
  return isText || (found !== null && subject.secret.has(key))
    ? `${label}${message}, found something else`
    : `${label}${message}, found ${describeValue(found)}${hint}`;
}
