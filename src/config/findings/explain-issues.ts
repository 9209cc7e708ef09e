import type { z } from 'zod';
import { didYouMean } from '../../model/nearest.ts';
import { valueAt } from '../value-at.ts';
import type { Path } from '../yaml/yaml-place.ts';
import { chooseBranch } from './choose-branch.ts';
import { choicesOf, oneOf } from './expectation.ts';

/** What is wrong at a path, in words. */
export interface Finding {
  readonly path: Path;
  readonly part: 'key' | 'value';
  /** Begins with `expected` when what was found is yet to be added. */
  readonly message: string;
  /** What to do, to stand behind the message; may be empty. */
  readonly hint: string;
  /** Another type or word altogether was expected, so that the value might be read in another way. */
  readonly wrongKind: boolean;
}

/** Turns zod's issues, whose messages are from `expectation`, into findings; `root` is the value that was parsed. */
export function explainIssues(
  issues: readonly z.core.$ZodIssue[],
  root: unknown,
  base: Path = [],
): Finding[] {
  return issues
    .filter((issue) => !isBesideUnknownKey(issue, issues))
    .flatMap((issue) => explainIssue(issue, root, [...base, ...issue.path]));
}

/** A relation between fields cannot be judged while one of the fields has a wrong name. */
function isBesideUnknownKey({ code, path }: z.core.$ZodIssue, issues: readonly z.core.$ZodIssue[]): boolean {
  const here = JSON.stringify(path);
  return (
    code === 'custom' &&
    issues.some((other) => other.code === 'unrecognized_keys' && JSON.stringify(other.path) === here)
  );
}

function explainIssue(issue: z.core.$ZodIssue, root: unknown, path: Path): Finding[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], key, issue.message.split(' ')));
    case 'invalid_union':
      return explainUnion(issue, root, path);
    case 'invalid_key': {
      const why = issue.issues[0]?.message ?? 'it is not valid';
      const message = `'${String(path.at(-1))}' cannot be a name: ${why}`;
      return [{ path, part: 'key', message, hint: '', wrongKind: false }];
    }
    default: {
      const wrongKind = issue.code === 'invalid_type' || issue.code === 'invalid_value';
      return [refusal(issue.message, choicesOf(issue), root, path, wrongKind)];
    }
  }
}

function explainUnion(issue: z.core.$ZodIssueInvalidUnion, root: unknown, path: Path): Finding[] {
  if (issue.errors.length === 0) return [refusal(issue.message, choicesOf(issue), root, path, true)];
  const choice = chooseBranch(issue.errors);
  switch (choice.kind) {
    case 'branch':
      return explainIssues(choice.issues, root, path);
    case 'unknown-keys':
      return choice.keys.map((key) => unknownKey([...path, key], key, choice.known));
    case 'wrong-kind':
      return [refusal(`expected ${oneOf(choice.phrases)}`, choice.words, root, path, true)];
    default:
      return choice satisfies never;
  }
}

function refusal(
  message: string,
  words: readonly string[],
  root: unknown,
  path: Path,
  wrongKind: boolean,
): Finding {
  const found = valueAt(root, path);
  const hint = typeof found === 'string' ? didYouMean(found, words) : '';
  return { path, part: 'value', message, hint, wrongKind };
}

/** `known` are the keys of the map, and as `outer.inner` those of the maps within it. */
function unknownKey(path: Path, key: string, known: readonly string[]): Finding {
  const here = known.filter((name) => name !== '' && !name.includes('.'));
  const elsewhere = known.find((name) => name.endsWith(`.${key}`));
  const meant =
    elsewhere === undefined ? didYouMean(key, here) : `; it belongs under '${elsewhere.split('.')[0]}'`;
  const list = here.length === 0 ? '' : ` (known: ${here.join(', ')})`;
  return { path, part: 'key', message: `unknown key '${key}'`, hint: meant + list, wrongKind: false };
}
