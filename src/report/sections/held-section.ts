import type { GuardFinding } from '../../model/plan.ts';
import { priceText } from '../../model/safety-limits.ts';
import { counted, grouped, listed } from '../printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { foreign, only, type Section, type Words } from '../section.ts';

const LONGEST_NAME = 60;
const LONGEST_VALUE = 80;

/** What the guards of the job have found, with old and new values; null if they found nothing. */
export function heldSection({ plan, totals }: RunFacts): Section | null {
  const hit = plan?.guards.filter(({ records }) => records > 0) ?? [];
  if (hit.length === 0) return null;
  const warned = hit.some(({ action, acts }) => action === 'warn' && acts);
  const parts = [
    ...(totals.held > 0 ? [`${counted(totals.held, 'record')} held`] : []),
    ...(warned ? ['look at the values below'] : []),
  ];
  return {
    id: 'held',
    title: parts.length === 0 ? 'Guards' : `Guards: ${listed(parts)}`,
    blocks: [
      {
        kind: 'table',
        caption: 'The values that guards of the job have found, with samples',
        captionHidden: true,
        columns: [
          { header: 'Guard' },
          { header: 'Records', bare: true, leads: true },
          { header: 'Values: old → new', bare: true },
        ],
        rows: hit.map((finding) => ({
          ...(finding.acts ? {} : { tone: 'quiet' as const }),
          cells: [
            { as: 'text', words: foreign(finding.guard, LONGEST_VALUE * 2) },
            `${grouped(finding.records)} of ${grouped(finding.of)}, ${actionWords(finding)}`,
            { as: 'samples', items: finding.examples.map(exampleWords) },
          ],
        })),
      },
    ],
  };
}

function actionWords({ action, acts }: GuardFinding): string {
  if (!acts) return 'below its share';
  switch (action) {
    case 'hold':
      return 'held';
    case 'stop':
      return 'stops the run';
    case 'warn':
      return 'only a warning';
    default:
      return action satisfies never;
  }
}

function exampleWords({ key, what, field, old, new: now }: GuardFinding['examples'][number]): Words {
  return [
    { as: 'key', words: foreign(key, LONGEST_NAME) },
    what !== null && [' (', foreign(what, LONGEST_NAME), ')'],
    only('text', ':'),
    ' ',
    { as: 'removed', words: valueWords(field, old) },
    ' → ',
    { as: 'added', words: valueWords(field, now) },
  ];
}

function valueWords(field: string, value: string | number | boolean | null): Words {
  if (value === null) return '(none)';
  if (value === '') return '(empty)';
  if (typeof value === 'number' && /price/i.test(field)) return priceText(value);
  return foreign(String(value), LONGEST_VALUE);
}
