import { truncate } from '../../model/truncate.ts';
import { capitalise, counted, grouped, printable } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { foreign, onlyIn, type Section, styled, table, type Words } from '../section.ts';
import { fieldWords } from './prices-section.ts';

const MAX_NAME_LENGTH = 60;
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
          [onlyIn('page', [commonName(field), ' ']), styled('setting', foreign(field, MAX_NAME_LENGTH))],
          [grouped(records), { as: 'drawing', drawing: { of: 'share', share: records / most } }],
          {
            as: 'samples',
            items: samples.map(({ key, old, new: now }) =>
              changeWords(styled('key', foreign(key, MAX_NAME_LENGTH)), sampleValue(old), sampleValue(now)),
            ),
          },
        ]),
        {
          captionHidden: false,
          shown: { page: 25, text: 12 },
          more: (left) => `and ${counted(left, 'more field')}, each in fewer records`,
        },
      ),
    ],
  };
}

/** The common name of a field, beside the name in the mapping. */
function commonName(field: string): Words {
  return styled('foreign', fieldWords(truncate(printable(field), MAX_NAME_LENGTH)));
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
