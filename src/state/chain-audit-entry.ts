import { hash } from 'node:crypto';
import { parsedJson } from '../model/json-object.ts';

/** A stored entry of the chain: its text up to the hash, the hash of the entry before, and its own. */
const CHAINED = /^(\{.*"previous":(?:null|"([0-9a-f]{64})")),"hash":"([0-9a-f]{64})"\}$/s;

/** The hash of a stored entry; one from before the chain is hashed as it is stored. */
function hashOf(stored: string) {
  return CHAINED.exec(stored)?.[3] ?? hash('sha256', stored);
}

/**
 * An entry of the audit log as it is stored after `last`, the newest stored one: with the hash of that entry as `previous`, and
 * its own `hash`, the SHA-256 of its JSON text without `hash`.
 */
export function chainAuditEntry(entry: object, last: string | undefined): string {
  const content = { ...entry, previous: last === undefined ? null : hashOf(last) };
  return JSON.stringify({ ...content, hash: hash('sha256', JSON.stringify(content)) });
}

/** The first entry that is not as it was written. */
interface AuditFault {
  /**
   * `missing`: the entry before this one is no longer in the log; `reordered`: it is elsewhere in the log, or this one says that it is
   * the first.
   */
  readonly kind: 'altered' | 'missing' | 'reordered';
  /** From 1, the oldest kept entry. */
  readonly number: number;
}

/** Verifies stored entries, oldest first. The oldest may follow entries that were removed by age or number. */
export function verifyAuditChain(stored: readonly string[]) {
  const hashes = stored.map(hashOf);
  const firstChained = stored.findIndex((text) => CHAINED.test(text));
  const unchained = firstChained === -1 ? stored.length : firstChained;
  const kindOfFault = (text: string, index: number): AuditFault['kind'] | undefined => {
    const [, content, previous, own] = CHAINED.exec(text) ?? [];
    if (content === undefined)
      return index < unchained && parsedJson(text) !== undefined ? undefined : 'altered';
    if (own !== hash('sha256', `${content}}`)) return 'altered';
    if (index === 0 || previous === hashes[index - 1]) return undefined;
    return previous === undefined || hashes.includes(previous) ? 'reordered' : 'missing';
  };
  for (const [index, text] of stored.entries()) {
    const kind = kindOfFault(text, index);
    if (kind !== undefined) return { fault: { kind, number: index + 1 }, hashes, unchained };
  }
  return {
    fault: undefined,
    /** The hashes of all entries, oldest first. */
    hashes,
    /** How many entries are from before the chain; of them only the newest is protected. */
    unchained,
  };
}
