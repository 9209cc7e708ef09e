import { withoutAbsent } from '../../model/json-object.ts';
import { isPriceMove, type Move, priceText } from '../../model/safety-limits.ts';
import { capitalise, grouped, printable, truncate } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { foreign, onlyIn, recordKey, type Section, styled, table, type Words } from '../section.ts';

const MAX_NAME_LENGTH = 80;
const MAX_VALUE_LENGTH = 80;

/** The fields that differ in changed records, most frequent first, with samples of old and new values. */
export function fieldsSection(facts: RunFacts): Section | null {
  const { plan } = facts;
  if (plan === null || plan.fieldsChanged.length === 0) return null;
  const { fieldsChanged, resource } = plan;
  const most = Math.max(...fieldsChanged.map(({ records }) => records));
  return {
    id: 'fields',
    title: 'What changes',
    ...(!isOnlyPlanned(facts) && { only: 'page' }),
    blocks: [
      table(
        `In how many ${resource} each field differs from what the store last confirmed, with samples`,
        ['Field', [capitalise(resource), 'numeric'], ['Samples: old → new', 'bare']],
        fieldsChanged.map(({ field, records, samples }) => [
          [onlyIn('page', [commonName(field), ' ']), styled('setting', foreign(field, 60))],
          [grouped(records), { as: 'drawing', drawing: { of: 'share', share: records / most } }],
          {
            as: 'samples',
            items: samples.map(({ key, old, new: now }) =>
              changeWords(
                recordKey(key),
                old === null ? '(not sent before)' : sampleValue(old),
                sampleValue(now),
              ),
            ),
          },
        ]),
        {
          captionHidden: false,
          shown: { page: 25, text: 12 },
          more: 'field',
          moreNote: ', each in fewer records',
        },
      ),
    ],
  };
}

/** The common name of a field, beside the name in the mapping. */
function commonName(field: string): Words {
  return styled('foreign', fieldWords(truncate(printable(field), 60)));
}

/** A record with an old and a new value. */
export function changeWords(name: Words, old: Words, now: Words): Words {
  return [name, onlyIn('text', ':'), ' ', styled('removed', old), ' → ', styled('added', now)];
}

/** A sample value. Absent and empty values have words. */
export function sampleValue(value: string | null): Words {
  if (value === null) return '(none)';
  return value === '' ? '(empty)' : foreign(value, MAX_VALUE_LENGTH);
}

/** The largest relative price changes; null if there are none. */
export function pricesSection({ plan }: RunFacts): Section | null {
  return movesSection('prices', 'Largest price changes', plan?.moves.prices ?? [], isPriceMove);
}

/** The largest relative stock changes; null if there are none. */
export function stockSection({ plan }: RunFacts): Section | null {
  return movesSection('stock', 'Largest stock changes', plan?.moves.stocks ?? [], () => false);
}

function movesSection(
  id: string,
  title: string,
  moves: readonly Move[],
  isUnusual: (move: Move) => boolean,
): Section | null {
  if (moves.length === 0) return null;
  const withVariants = moves.some(({ what }) => what !== null);
  return {
    id,
    title,
    only: 'page',
    blocks: [
      table(
        'The largest change for its size comes first; at most twenty are shown.',
        [
          'Product',
          withVariants && ['Variant', 'short', 'bare'],
          ['Field', 'short', 'bare'],
          ['From', 'numeric'],
          ['To', 'numeric'],
          ['Change', 'numeric'],
          ['Drawn', 'bare'],
        ],
        moves.map((move) => {
          const { key, what, old, new: now } = move;
          const unusual = isUnusual(move);
          const change = formatChange(old, now);
          return withoutAbsent<Words>([
            foreign(key, MAX_NAME_LENGTH),
            withVariants && (what === null ? '' : foreign(what, MAX_NAME_LENGTH)),
            moveFieldWords(move),
            formatNumber(move, old),
            styled('strong', formatNumber(move, now)),
            unusual ? styled('unusual', change) : change,
            { as: 'drawing', drawing: { of: 'change', old, new: now, unusual } },
          ]);
        }),
        { captionHidden: false },
      ),
    ],
  };
}

/** From this factor on a change is printed as a factor: twice, or half. */
const FACTOR = 2;

/** The size of a change: `×100`, `÷100`, `+20%`, `−5.2%`. `from 0` and `to 0` have no size. */
export function formatChange(old: number, now: number): string {
  if (old === now) return '±0';
  if (old === 0) return 'from 0';
  if (now === 0) return 'to 0';
  const factor = now / old;
  if (factor < 0) return 'sign changes';
  if (factor >= FACTOR) return `×${rounded(factor)}`;
  if (factor <= 1 / FACTOR) return `÷${rounded(1 / factor)}`;
  const percent = (factor - 1) * 100;
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent) < 0.1 ? '<0.1' : Number(Math.abs(percent).toFixed(1))}%`;
}

function rounded(factor: number) {
  return factor.toLocaleString('en', { maximumSignificantDigits: 3 });
}

/** The common name of a field: `variants.regularPrice` is `variant regular price`. */
export function fieldWords(field: string): string {
  return field
    .split('.')
    .map((part, index, parts) => (index < parts.length - 1 ? singular(part) : part))
    .map((part) => part.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase())
    .join(' ');
}

function singular(word: string) {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

/** The field of a change, without the common prefix. */
export function moveFieldWords({ field }: Move): string {
  return fieldWords(printable(field.split('.').at(-1) ?? field));
}

/** A price with its cents; a quantity without decimals if it is a whole number. */
export function formatNumber({ field }: Move, value: number): string {
  if (/price/i.test(field)) return priceText(value);
  return grouped(value);
}
