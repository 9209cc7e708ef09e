import type { ChangeSample, FieldChanges } from '../../../model/plan.ts';
import { shownValue } from '../../plan-text.ts';
import { fieldWords } from '../../wording/field-words.ts';
import { printable, shortened } from '../../wording/printable.ts';
import { counted, grouped, sentence } from '../../wording/words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';

const FIELDS_SHOWN = 25;
const LONGEST_KEY = 60;

/** Which fields of the changed records differ, most frequent first, with old and new values of a few. */
export function fieldsSection({ plan }: ReportFacts): Markup | null {
  if (plan === null || plan.fieldsChanged.length === 0) return null;
  const { fieldsChanged: fields, resource } = plan;
  const most = Math.max(...fields.map(({ records }) => records));
  const left = fields.length - FIELDS_SHOWN;
  const table = dataTable({
    caption: `In how many ${resource} each field differs from what the store last confirmed, with samples`,
    columns: [
      { header: 'Field' },
      { header: sentence(resource), numeric: true },
      { header: 'Samples: old → new', bare: true },
    ],
    rows: fields
      .slice(0, FIELDS_SHOWN)
      .map((field) => [
        fieldName(field),
        html`${grouped(field.records)}${countBar(field, most)}`,
        html`<ul class="samples">${field.samples.map(sampleItem)}</ul>`,
      ]),
  });
  const more =
    left > 0 && html`<p class="more">And ${counted(left, 'more field')}, each in fewer records.</p>`;
  return section('fields', 'What changes', html`${table}${more}`);
}

/** As people say it, and as a mapping names it. */
function fieldName({ field }: FieldChanges): Markup {
  const words = fieldWords(shortened(printable(field), LONGEST_KEY));
  return html`<bdi>${words}</bdi> <code class="setting">${foreign(field, LONGEST_KEY)}</code>`;
}

function countBar({ records }: FieldChanges, most: number): Markup {
  const width = Math.max(1, (records / most) * 100);
  return html`<svg class="count-bar" aria-hidden="true" width="100%" height="8"><rect class="count-track" x="0" y="0" width="100%" height="8"/><rect class="count-fill" x="0" y="0" width="${Number(width.toFixed(2))}%" height="8"/></svg>`;
}

function sampleItem({ key, old, new: now }: ChangeSample): Markup {
  return html`<li><span class="sample-key">${foreign(key, LONGEST_KEY)}</span> <del>${foreign(shownValue(old))}</del> <span class="arrow">→</span> <ins>${foreign(shownValue(now))}</ins></li>`;
}
