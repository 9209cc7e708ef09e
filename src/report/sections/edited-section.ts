import { withoutAbsent } from '../../model/json-object.ts';
import type { EditedFound } from '../../model/run.ts';
import { counted, listed } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { foreign, paragraph, type Section, styled, table } from '../section.ts';

const MAX_NAME_LENGTH = 60;

/** What is known of edits in the store: of the plan, and when the run has ended also what its answers have shown. */
export function editedFacts({
  run,
  plan,
}: Pick<RunFacts, 'run'> & Partial<Pick<RunFacts, 'plan'>>): EditedFound | null {
  return run.edited ?? plan?.edited ?? null;
}

/** Fields that somebody edited in the store, and what becomes of them; null if none is known. */
export function editedSection(facts: RunFacts): Section | null {
  const found = editedFacts(facts);
  const replaces = facts.plan?.replacesEdits === true;
  if (found === null && !replaces) return null;
  const { kept, held, overwritten, records } = found ?? { kept: 0, held: 0, overwritten: 0, records: [] };
  const parts = withoutAbsent([
    kept > 0 && `${counted(kept, 'record')} kept`,
    held > 0 && `${held} held`,
    overwritten > 0 && `${overwritten} overwritten`,
  ]);
  return {
    id: 'edited',
    title: parts.length === 0 ? 'Edited in the store' : `Edited in the store: ${listed(parts)}`,
    blocks: [
      paragraph([
        replaces &&
          styled(
            'tone-warning',
            `The store replaces whole products: what somebody edited there ${isOnlyPlanned(facts) ? 'will be' : 'is'} overwritten.`,
          ),
        held > 0 && 'Held records have a field that was changed in the store and in the source.',
      ]),
      table(
        'Records that somebody edited in the store',
        ['Record', ['Edit', 'bare', 'leads'], ['Fields', 'bare']],
        records.map(({ key, how, fields }) => ({
          ...(how !== 'kept' && { tone: 'warning' as const }),
          cells: [styled('key', foreign(key, MAX_NAME_LENGTH)), how, listed(fields)],
        })),
        { more: (left) => `and ${counted(left, 'more record')}` },
      ),
    ],
  };
}
