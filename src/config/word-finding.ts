import { describeValue } from './describe-value.ts';
import type { Finding } from './explain-issues.ts';
import { type FilledValues, pathKey } from './fill-values.ts';
import { placeholder } from './placeholders.ts';
import { valueAt } from './values-at.ts';
import type { Path } from './yaml-place.ts';

/**
 * The message for people: where, what was expected, what was found, what to do. It quotes nothing that came from the
 * environment and nothing of the fields in `secret` (path keys), since either may be a secret.
 */
export function wordFinding(
  finding: Finding,
  values: FilledValues,
  at: Path,
  secret: ReadonlySet<string>,
): string {
  const { path, part, message } = finding;
  const name = [...at, ...path].map(String).join('.');
  const label = part === 'key' || name === '' ? '' : `${name}: `;
  if (!message.startsWith('expected ')) return label + message + finding.hint;
  const found = valueAt(values.value, path);
  const key = pathKey(path);
  const names = values.filled
    .get(key)
    ?.placeholders.map((used) => placeholder(used.name))
    .join(' and ');
  if (names !== undefined) {
    return `${label}${message}, found ${found === undefined ? 'nothing in' : 'what stands in'} ${names}`;
  }
  if (name === '' && found === null) return `the file is empty; ${message}`;
  if (found === undefined) return `'${name}' is missing; ${message}`;
  const mayQuote = !secret.has(key) && (typeof found !== 'string' || !/^expected a (map|list)/.test(message));
  return `${label}${message}, found ${mayQuote ? describeValue(found) : 'something else'}${mayQuote ? finding.hint : ''}`;
}
