import { MIN_RECORDS_FOR_SHARE } from '../../model/guard.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { GuardFinding } from '../../model/plan.ts';
import { priceText } from '../../model/safety-limits.ts';
import { counted, grouped, listed } from '../../text/printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { foreign, type Section, styled, table, type Words } from '../section.ts';
import { changeWords, sampleValue } from './fields-section.ts';

const MAX_NAME_LENGTH = 60;

/** What the guards of the job have found, with old and new values; null if they found nothing. */
export function heldSection({ run, plan, totals }: RunFacts): Section | null {
  const hit = plan?.guards.filter(({ records }) => records > 0) ?? [];
  if (hit.length === 0) return null;
  const warned = hit.some(({ action, isTriggered }) => action === 'warn' && isTriggered);
  const parts = withoutAbsent([
    totals.held > 0 && `${counted(totals.held, 'record')} held`,
    warned && 'look at the values below',
  ]);
  return {
    id: 'held',
    title: parts.length === 0 ? 'Guards' : `Guards: ${listed(parts)}`,
    blocks: [
      table(
        'The values that guards of the job have found, with samples',
        ['Guard', ['Records', 'bare', 'leads'], ['Values: old → new', 'bare']],
        hit.map((finding) => ({
          ...(!finding.isTriggered && { tone: 'quiet' as const }),
          cells: [
            styled('text', foreign(finding.guard, 160)),
            `${grouped(finding.records)} of ${grouped(finding.of)}, ${effectOf(finding, run)}`,
            { as: 'samples', items: finding.examples.map(exampleWords) },
          ],
        })),
      ),
    ],
  };
}

/** What a guard does to what it has found. */
function effectOf({ action, isTriggered, share, of }: GuardFinding, { approved }: RunFacts['run']): string {
  if (isTriggered) return action === 'stop' && approved ? 'approved by a person' : ACTIONS[action];
  return of < MIN_RECORDS_FOR_SHARE ? `too few for its share of ${share}%` : `within its share of ${share}%`;
}

const ACTIONS = { hold: 'held', stop: 'stops the run', warn: 'only a warning' } as const satisfies Readonly<
  Record<GuardFinding['action'], string>
>;

function exampleWords({ key, what, field, old, new: now }: GuardFinding['examples'][number]): Words {
  const name = [
    styled('key', foreign(key, MAX_NAME_LENGTH)),
    what !== null && [' (', foreign(what, MAX_NAME_LENGTH), ')'],
  ];
  return changeWords(name, valueWords(field, old), valueWords(field, now));
}

function valueWords(field: string, value: string | number | boolean | null): Words {
  if (typeof value === 'number' && /price/i.test(field)) return priceText(value);
  return sampleValue(value === null ? null : String(value));
}
