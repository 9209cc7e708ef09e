import type { Run } from '../../model/run.ts';
import { dataTable, foreign, html, type Markup } from '../../report/html/markup.ts';
import { counted, grouped } from '../../report/printable.ts';
import { changeText, type HeldRunRecord, heldRunRecords } from '../../run/records/run-records.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { FormFields } from '../form-fields.ts';
import { PageError } from '../guard/page-error.ts';
import { historyHref } from '../pages/history-page.ts';
import { jobHref } from '../pages/job-card.ts';
import { type Frame, page } from '../pages/page.ts';
import { type Pages, pageOf, pager } from '../pages/runs-page.ts';
import { at } from './confirm-run.ts';
import { confirmationForm } from './confirmation.ts';

/** A form of chosen keys stays below the limit of forms. */
const RECORDS_A_PAGE = 100;
const VALUE_SHOWN = 200;
/** Fields of the form: each chosen record, and what the buttons say. */
const CHOSEN = 'record.';
const WHICH = 'which';

/** The held records of a run with their old and new values, of which all or some can be released. PageError if it holds none. */
export async function releasePage(
  { context }: Pick<DashboardContext, 'context'>,
  run: Run,
  { key, page: number }: { readonly key?: unknown; readonly page?: unknown },
  frame: Frame,
): Promise<string> {
  const { id, job, store, baseUrl } = run;
  const held: HeldRunRecord[] = [];
  for await (const batch of heldRunRecords(context, run)) held.push(...batch);
  const wanted = typeof key === 'string' ? held.filter((record) => record.key === key) : held;
  const open = wanted.filter(isOpen);
  const shown = pageOf(wanted, RECORDS_A_PAGE, number);
  const isOne = typeof key === 'string';
  const all = held.filter(isOpen).length;
  const button = (which: string, label: string, weight: string) =>
    html`<button type="submit" name="${WHICH}" value="${which}" class="button ${weight}">${label}</button>`;
  const buttons = html`${open.length > 0 && button('chosen', isOne ? 'Release this record' : 'Release the chosen records', 'primary')} ${!isOne && all > 0 && button('all', `Release all ${grouped(all)}`, 'danger')}`;
  return page({
    ...frame,
    title: `Release held records of run ${id}`,
    section: 'runs',
    body: html`<p class="page-lead">Guards of <a href="${jobHref(job)}">${job}</a> held ${counted(held.length, 'record')} of <a href="/runs/${id}">run ${id}</a>: nothing of them was sent. Compare the values, and release what is right.</p>
<ul class="does">
<li>Sends exactly the held bodies to the store ${at({ name: store, baseUrl })}: <b>${counted(all, 'record')}</b> can be sent. The source is not read again.</li>
<li>A record is left out if it has changed since, or a newer run does not hold the same values.</li>
<li>It is a run of its own, and can be undone.</li>
</ul>
${isOne && html`<p><a href="/runs/${id}/release">All records that the run holds</a></p>`}
${confirmationForm({ action: `/runs/${id}/release`, controls: heldTable(shown, run, isOne), buttons, back: `/runs/${id}` }, frame)}
${pager(shown, (at) => `/runs/${id}/release?page=${at}`)}
${shown.count > 1 && html`<p class="quiet">The chosen records are those of this page.</p>`}`,
  });
}

function isOpen({ isSent, refusal }: HeldRunRecord): boolean {
  return !isSent && refusal === null;
}

function heldTable({ items }: Pages<HeldRunRecord>, run: Run, isOne: boolean): Markup {
  return html`<div class="report"><div class="part">${dataTable({
    caption: 'Held records',
    captionHidden: true,
    columns: [
      { header: 'Record' },
      { header: 'Values: old → new', bare: true },
      { header: 'From', short: true },
      { header: 'Now' },
    ],
    rows: items.map((record, index) => {
      const { key, changes, place } = record;
      const id = `${CHOSEN}${index}`;
      // The ledger does not know a new record.
      const name = record.created
        ? foreign(key)
        : html`<a href="${historyHref({ store: run.store, target: run, key })}">${foreign(key)}</a>`;
      return [
        isOpen(record)
          ? html`<span class="choice"><input type="checkbox" id="${id}" name="${id}" value="${key}" aria-label="Release ${key}"${isOne && html` checked`}> ${name}</span>`
          : name,
        html`<ul>${changes.map((change) => html`<li>${foreign(changeText(change), VALUE_SHOWN)}</li>`)}</ul>`,
        place === null ? '' : html`<code>${foreign(place)}</code>`,
        record.isSent ? 'sent since' : record.refusal === null ? 'held' : foreign(record.refusal.message),
      ];
    }),
  })}</div></div>
`;
}

/** The keys that a form has chosen; undefined for all records. PageError if none is chosen. */
export function chosenRecords(fields: FormFields): readonly string[] | undefined {
  if (fields[WHICH] === 'all') return undefined;
  const keys = Object.entries(fields).flatMap(([name, key]) =>
    name.startsWith(CHOSEN) && key !== undefined ? [key] : [],
  );
  if (keys.length > 0) return keys;
  throw new PageError(400, 'No record chosen', 'Go back and tick the records to release.');
}
