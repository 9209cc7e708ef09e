import type { HistoryPoint } from '../../model/list-history.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { changeOf, changeTone, MEASURES, shownFigure, shownListName } from '../../report/list-measures.ts';
import { printable } from '../../report/wording/printable.ts';
import { counted, listed } from '../../report/wording/words.ts';
import type { Frame } from './frame.ts';
import { jobHref } from './job-card.ts';
import { page } from './layout.ts';
import type { ListTrend } from './list-trends.ts';
import { moment, type Reading, relative } from './moment.ts';
import { type Pages, pager } from './pager.ts';

/** What the trends of a job's lists are made of. */
export interface ListPageFacts {
  readonly job: string;
  /** Where the history is. */
  readonly location: string;
  /** All lists, those first that the store still has. */
  readonly lists: readonly ListTrend[];
  /** Those of this page, with their drawings. */
  readonly shown: Pages<{ readonly list: ListTrend; readonly drawing: ListDrawing | null }>;
  /** When lists were read, rising. */
  readonly moments: readonly number[];
  /** Lines that are no readings. */
  readonly unreadable: number;
  readonly reading: Reading;
  readonly program: string;
}

/** How a list has fared, drawn. */
export interface ListDrawing {
  readonly subscribers: Markup;
  readonly rates: Markup;
}

/** The lists that an export job watches: where each stands, and how it came there. */
export function listPage(facts: ListPageFacts, frame: Frame): string {
  const { job, moments } = facts;
  return page({
    ...frame,
    title: `Lists of ${job}`,
    section: 'lists',
    heading: html`Lists`,
    body: moments.length === 0 ? noReadings(facts, frame) : trends(facts),
  });
}

function trends(facts: ListPageFacts): Markup {
  const { job, lists, moments, location, unreadable, shown, reading, program } = facts;
  const [first, last] = [moments[0] ?? 0, moments.at(-1) ?? 0];
  const span =
    moments.length === 1
      ? html`taken ${relative(last, reading)}`
      : html`from ${moment(first, reading)} to ${moment(last, reading)} <span class="quiet">(${relative(last, reading)})</span>`;
  return html`<p class="page-lead">${counted(lists.length, 'list')}, ${counted(moments.length, 'reading')} ${span}, collected by <a href="${jobHref(job)}">${job}</a> in <code>${location}</code>.</p>
${unreadable > 0 && html`<p class="notice warning">${counted(unreadable, 'line')} of the file ${unreadable === 1 ? 'is no reading' : 'are no readings'} and left out.</p>`}
${moments.length === 1 && html`<p class="notice good">One reading shows no change yet. Take another with <code>${program} run ${job}</code>, or give the job a schedule.</p>`}
${latestTable(lists, reading)}
${shown.items.map(({ list, drawing }) => drawing !== null && listSection(list, drawing, reading))}
${pager(shown, (number) => `/lists/${encodeURIComponent(job)}${number === 1 ? '' : `?page=${number}`}`)}`;
}

function latestTable(lists: readonly ListTrend[], reading: Reading): Markup {
  const caption = 'Where each list stands, and the change since the reading before';
  return html`<div class="table-scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">List</th>${MEASURES.map(({ name }) => html`<th scope="col" class="figure">${capital(name)}</th><th scope="col" class="figure">Change</th>`)}<th scope="col">Read</th></tr></thead>
<tbody>${lists.map(
    ({ id, latest, before, gone }) => html`<tr>
<th scope="row">${shownListName(latest)} <span class="quiet">${printable(id)}</span>${gone && html` <span class="badge warning">Gone</span>`}</th>
${MEASURES.map((measure) => html`<td class="figure">${shownFigure(measure, latest)}</td><td class="figure change ${changeTone(measure, before, latest)}">${changeOf(measure, before, latest)}</td>`)}
<td>${relative(latest.readAt, reading)}</td>
</tr>`,
  )}</tbody>
</table></div>`;
}

function listSection(
  { id, latest, first, formerNames, gone, points }: ListTrend,
  drawing: ListDrawing,
  reading: Reading,
): Markup {
  const anchor = `list-${encodeURIComponent(id)}`;
  return html`<section class="panel list" aria-labelledby="${anchor}"><h2 id="${anchor}">${shownListName(latest)} <span class="quiet">id ${printable(id)}</span></h2>
${formerNames.length > 0 && html`<p class="quiet">Formerly ${listed(formerNames)}</p>`}
${gone && html`<p class="notice warning">The store no longer has this list; it was last read ${relative(latest.readAt, reading)}.</p>`}
<div class="pair">${figureOf('Subscribers', drawing.subscribers, wholeChange(first, latest, points))}${figureOf('Open and click rate, %', drawing.rates, null)}</div></section>`;
}

function figureOf(caption: string, drawing: Markup, note: string | null): Markup {
  return html`<figure><figcaption>${caption}${note !== null && html` <span class="quiet">${note}</span>`}</figcaption>${drawing}</figure>`;
}

function wholeChange(
  first: HistoryPoint,
  latest: HistoryPoint,
  points: readonly HistoryPoint[],
): string | null {
  const [subscribers] = MEASURES;
  if (subscribers === undefined || points.length < 3) return null;
  const change = changeOf(subscribers, first, latest);
  return change === '' ? null : `${change} over all ${points.length} readings`;
}

function noReadings({ job, location, program }: ListPageFacts, { viewer }: Frame): Markup {
  return html`<section class="empty"><h2>No readings yet</h2>
<p><code>${location}</code> holds none. Each run of <a href="${jobHref(job)}">${job}</a> adds one: a line per list. Take the first${viewer.canAct && html` <a href="${jobHref(job)}/run">here</a>`} or with:</p>
<pre><code>${program} run ${job}</code></pre></section>`;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
