import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../src/model/action.ts';
import { chainAuditEntry, verifyAuditChain } from '../../src/state/chain-audit-entry.ts';

const ENTRY: AuditEntry = {
  at: 1_000,
  who: 'deploy@shop1',
  by: 'command',
  action: 'run',
  job: 'nightly',
  run: 'k3v9',
  of: null,
  outcome: 'done',
};

function chainOf(count: number, older: readonly string[] = []): string[] {
  const stored = [...older];
  for (let index = 0; index < count; index++)
    stored.push(
      chainAuditEntry({ ...ENTRY, at: 1_000 + index, who: `"hash":"\uD800 ${index}` }, stored.at(-1)),
    );
  return stored;
}

/** A chain, and a place in it that is not the last. */
const chains = fc
  .integer({ min: 2, max: 12 })
  .chain((count) => fc.record({ count: fc.constant(count), at: fc.nat(count - 2) }));

describe('a verification of the audit log', () => {
  it('finds a chain whole, from any entry on', () => {
    fc.assert(
      fc.property(chains, ({ count, at }) => {
        expect(verifyAuditChain(chainOf(count).slice(at))).toMatchObject({ fault: undefined, unchained: 0 });
      }),
    );
    expect(verifyAuditChain([]).fault).toBeUndefined();
  });

  it('names an altered entry, whichever of its characters was changed', () => {
    fc.assert(
      fc.property(chains, fc.nat(), ({ count, at }, character) => {
        const stored = chainOf(count).slice(1);
        const text = stored[at] ?? stored[0] ?? '';
        const index = stored.indexOf(text);
        const place = character % text.length;
        const altered = `${text.slice(0, place)}${text[place] === 'x' ? 'y' : 'x'}${text.slice(place + 1)}`;
        const { fault } = verifyAuditChain(stored.with(index, altered));
        // Without a hash that can be read, the oldest could be from before the chain; then the next one has another before it.
        const isUnlinked = index === 0 && fault?.number === 2 && fault.kind === 'missing';
        if (!isUnlinked && stored.length > 1)
          expect(fault).toMatchObject({ kind: 'altered', number: index + 1 });
      }),
    );
  });

  it('names the newest entry if that was altered', () => {
    const stored = chainOf(3);
    const altered = stored.map((text) => text.replace('"at":1002', '"at":1001'));
    expect(verifyAuditChain(altered).fault).toMatchObject({
      kind: 'altered',
      number: 3,
    });
  });

  it('names the entry after one that is missing, or that was altered together with its hash', () => {
    fc.assert(
      fc.property(chains, ({ count, at }) => {
        const stored = ['', ...chainOf(count)].slice(1);
        const first = chainOf(1)[0] ?? '';
        const removed = [first, ...stored.slice(1).toSpliced(at, 1)];
        const isNewest = at === count - 2;
        const found = verifyAuditChain(removed).fault;
        if (isNewest) expect(found).toBeUndefined();
        else expect(found).toMatchObject({ kind: 'missing', number: at + 2 });
        const forged = chainAuditEntry({ ...ENTRY, who: 'eve' }, at === 0 ? undefined : stored[at - 1]);
        expect(verifyAuditChain(stored.with(at, forged)).fault).toMatchObject({
          kind: 'missing',
          number: at + 2,
        });
      }),
    );
  });

  it('names an entry that is in the place of another, or there twice', () => {
    fc.assert(
      fc.property(chains, ({ count, at }) => {
        const stored = chainOf(count);
        const [one = '', other = ''] = stored.slice(at, at + 2);
        const swapped = verifyAuditChain(stored.toSpliced(at, 2, other, one)).fault;
        // The oldest may follow anything.
        expect(swapped).toMatchObject({ kind: 'reordered', number: Math.max(at + 1, 2) });
        const twice = verifyAuditChain(stored.toSpliced(at + 1, 0, one)).fault;
        expect(twice).toMatchObject({ kind: 'reordered', number: at + 2 });
      }),
    );
  });

  it('accepts entries from before the chain at its beginning, protects their newest, and no such entry later', () => {
    const older = [JSON.stringify(ENTRY), JSON.stringify({ ...ENTRY, id: 'a' })];
    const stored = chainOf(2, older);
    expect(verifyAuditChain(stored)).toMatchObject({ fault: undefined, unchained: 2 });
    const altered = stored.with(1, JSON.stringify({ ...ENTRY, id: 'b' }));
    expect(verifyAuditChain(altered).fault).toMatchObject({ kind: 'missing', number: 3 });
    expect(verifyAuditChain([...stored, ...older]).fault).toMatchObject({ kind: 'altered', number: 5 });
    expect(verifyAuditChain(['{']).fault).toMatchObject({ kind: 'altered', number: 1 });
  });

  it('can be repeated by other programs: the hash is that of the line without it', () => {
    const [first = '', second = ''] = chainOf(2).map((text) =>
      JSON.stringify({ ...JSON.parse(text), hash: undefined }),
    );
    expect(second).toContain(`"previous":"${hash('sha256', first)}"`);
  });
});
