import type { ReasonGroup } from '../../../model/plan.ts';
import { reasonAmount, reasonPlaces, reasonSubject } from '../../reason-lines.ts';
import { rejectsLines } from '../../rejects-lines.ts';
import { printable } from '../../wording/printable.ts';
import { counted, sentence } from '../../wording/words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';
import { namesRejects } from './next-section.ts';

/** A file may be wrong in more ways than anybody reads about. */
const REASONS_SHOWN = 25;

/** What was rejected, by the mapping and by the store, why, and where it stands; null where nothing was. */
export function rejectionsSection(facts: ReportFacts): Markup | null {
  const { plan, refusals, rejectsFile } = facts;
  if (plan === null || plan.rejections.length + refusals.length === 0) return null;
  const files = fileNames(facts);
  const where = namesRejects(facts) ? [] : rejectsLines(rejectsFile, plan.rejections);
  return section(
    'rejected',
    'Rejected, and why',
    html`${where.length > 0 && html`<div class="files">${where.map((line) => html`<p>${foreign(line)}</p>`)}</div>`}
${plan.rejections.length > 0 && reasonsTable('Found in the file', plan.rejections, files)}
${refusals.length > 0 && reasonsTable('Refused by the store', refusals, files)}`,
  );
}

/** What was left out on purpose, and why; null where nothing was. */
export function skipsSection(facts: ReportFacts): Markup | null {
  const { plan } = facts;
  if (plan === null || plan.skips.length === 0) return null;
  return section(
    'skipped',
    'Skipped, and why',
    reasonsTable('Left out on purpose', plan.skips, fileNames(facts)),
  );
}

/** What did not reach the store, and why; null where everything did. */
export function unsentSection({ unsentReasons }: ReportFacts): Markup | null {
  if (unsentReasons.length === 0) return null;
  const table = dataTable({
    caption: 'Requests that the store never confirmed, by reason',
    captionHidden: true,
    columns: [{ header: 'Why' }, { header: 'Requests', bare: true }],
    rows: unsentReasons
      .slice(0, REASONS_SHOWN)
      .map(({ reason, count }) => [
        html`<span class="text">${foreign(reason.message)}</span>`,
        counted(count, 'operation'),
      ]),
  });
  return section('unsent', 'Unsent, and why', html`${table}${moreReasons(unsentReasons.length)}`);
}

function reasonsTable(caption: string, groups: readonly ReasonGroup[], files: readonly string[]): Markup {
  const table = dataTable({
    caption,
    columns: [{ header: 'Why' }, { header: 'How many', bare: true }, { header: 'Where', bare: true }],
    rows: groups
      .slice(0, REASONS_SHOWN)
      .map((group) => [
        html`<span class="text">${foreign(sentence(group.message))}</span> <code class="setting">${printable(group.code)}</code>`,
        html`<strong>${reasonAmount(group)}</strong>`,
        whereOf(group, files),
      ]),
  });
  return html`${table}${moreReasons(groups.length)}`;
}

function whereOf(group: ReasonGroup, files: readonly string[]): Markup {
  const subject = reasonSubject(group);
  const places = reasonPlaces(group, files);
  return html`${places !== '' && html`<span class="places">${foreign(sentence(places))}</span>`}${
    subject.length > 0 && html` <span class="subject">${foreign(subject.join(', '))}</span>`
  }${places === '' && subject.length === 0 && '–'}`;
}

function moreReasons(count: number): Markup | false {
  const left = count - REASONS_SHOWN;
  return (
    left > 0 &&
    html`<p class="more">And ${counted(left, 'more reason')}, each of fewer records: the rejects file names the reason of every row.</p>`
  );
}

function fileNames({ plan }: ReportFacts): string[] {
  return plan === null ? [] : plan.source.files.map(({ name }) => name);
}
