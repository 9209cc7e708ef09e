import { truncate } from '../../model/truncate.ts';
import { counted, grouped, printable, sentence } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { columns, foreign, onlyIn, type Section, type Words } from '../section.ts';
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
    ...(isOnlyPlanned(facts) ? {} : { only: 'page' }),
    blocks: [
      {
        kind: 'table',
        caption: `In how many ${resource} each field differs from what the store last confirmed, with samples`,
        columns: columns('Field', [sentence(resource), 'numeric'], ['Samples: old → new', 'bare']),
        rows: fieldsChanged.map(({ field, records, samples }) => ({
          cells: [
            [
              onlyIn('page', [commonName(field), ' ']),
              { as: 'setting', words: foreign(field, MAX_NAME_LENGTH) },
            ],
            [grouped(records), { as: 'drawing', drawing: { of: 'share', share: records / most } }],
            {
              as: 'samples',
              items: samples.map(({ key, old, new: now }) =>
                changeWords(
                  { as: 'key', words: foreign(key, MAX_NAME_LENGTH) },
                  sampleValue(old),
                  sampleValue(now),
                ),
              ),
            },
          ],
        })),
        shown: { page: 25, text: 12 },
        more: (left) => `and ${counted(left, 'more field')}, each in fewer records`,
      },
    ],
  };
}

/** The common name of a field, beside the name in the mapping. */
function commonName(field: string): Words {
  return { as: 'foreign', words: fieldWords(truncate(printable(field), MAX_NAME_LENGTH)) };
}

/** A record with an old and a new value. */
export function changeWords(name: Words, old: Words, now: Words): Words {
  return [name, onlyIn('text', ':'), ' ', { as: 'removed', words: old }, ' → ', { as: 'added', words: now }];
}

/** A sample value. Absent and empty values have words. */
export function sampleValue(value: string | null): Words {
  if (value === null) return '(none)';
  return value === '' ? '(empty)' : foreign(value, MAX_VALUE_LENGTH);
}
