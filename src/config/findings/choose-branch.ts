import type { z } from 'zod';
import { choicesOf } from './expectation.ts';

type Issue = z.core.$ZodIssue;
type Branch = readonly Issue[];

/** The finding for a value that fits no branch of a union. */
export type BranchChoice =
  | { readonly kind: 'branch'; readonly issues: Branch }
  | { readonly kind: 'unknown-keys'; readonly keys: readonly string[]; readonly known: readonly string[] }
  | { readonly kind: 'wrong-kind'; readonly phrases: readonly string[]; readonly words: readonly string[] };

/** Finds the branch that a value was most probably meant for; or says that no branch knows such values, or its keys. */
export function chooseBranch(branches: readonly Branch[]): BranchChoice {
  const flat = branches.flatMap(withoutNesting);
  const near = flat.filter((branch) => !branch.some(isWrongKind));
  if (near.length === 0) {
    const issues = flat.flatMap((branch) => branch.filter(isWrongKind));
    const phrases = new Set(issues.map(({ message }) => message.replace(/^expected /, '')));
    return { kind: 'wrong-kind', phrases: [...phrases], words: issues.flatMap(choicesOf) };
  }
  const keys = keysUnknownToAll(near);
  if (keys.length > 0) {
    const lists = near.flatMap((branch) => branch.filter(isUnknownKeys).map(({ message }) => message));
    return { kind: 'unknown-keys', keys, known: [...new Set(lists.flatMap((list) => list.split(' ')))] };
  }
  const [best = []] = near.toSorted((a, b) => strangeness(a) - strangeness(b));
  return { kind: 'branch', issues: best };
}

/** A union that is a branch of another one adds its branches to it. */
function withoutNesting(branch: Branch): readonly Branch[] {
  const [first] = branch;
  const nested =
    branch.length === 1 && first?.code === 'invalid_union' && first.path.length === 0 ? first.errors : [];
  return nested.length === 0 ? [branch] : nested.flatMap(withoutNesting);
}

function isWrongKind({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function isUnknownKeys(issue: Issue): issue is z.core.$ZodIssueUnrecognizedKeys {
  return issue.code === 'unrecognized_keys' && issue.path.length === 0;
}

function keysUnknownToAll(branches: readonly Branch[]): string[] {
  const unknown = branches.map((branch) => branch.filter(isUnknownKeys).flatMap(({ keys }) => keys));
  const [first = [], ...others] = unknown;
  return first.filter((key) => others.every((keys) => keys.includes(key)));
}

/** How little a branch knows the value: unknown keys count most, then keys that are missing or of another type. */
function strangeness(branch: Branch): number {
  return branch.reduce((sum, issue) => {
    if (isUnknownKeys(issue)) return sum + 10 * issue.keys.length;
    return sum + (issue.path.length === 1 && issue.code === 'invalid_type' ? 2 : 1);
  }, 0);
}
