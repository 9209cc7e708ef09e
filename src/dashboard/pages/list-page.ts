import type { HistoryPoint } from '../../model/subscriber-list.ts';
import { dataTable } from '../../report/html/data-table.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { section } from '../../report/html/section.ts';
import { badge } from '../../report/html/status-badge.ts';
import { foreign } from '../../report/html/text.ts';
import { changeOf, changeTone, MEASURES, shownFigure, shownListName } from '../../report/list-measures.ts';
import { plotFigure } from '../../report/plots/plot-figure.ts';
import { printable } from '../../report/wording/printable.ts';
import { counted, listed, sentence } from '../../report/wording/words.ts';
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
  /** Lines that cannot be read. */
  readonly unreadable: number;
  readonly reading: Reading;
  readonly program: string;
}

/** The plots of a list. */
export interface ListDrawing {
  readonly subscribers: Markup;
  /** Null where the store gives none. */
  readonly rates: Markup | null;
}

/** The lists that an export job reads: their latest figures, and a plot of each over time. */
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
${unreadable > 0 && html`<p class="notice warning">${counted(unreadable, 'line')} of the file cannot be read and ${unreadable === 1 ? 'is' : 'are'} left out.</p>`}
${moments.length === 1 && html`<p class="notice">One reading shows no change yet. Take another with <code>${program} run ${job}</code>, or give the job a schedule.</p>`}
<div class="report">${section('latest', 'Latest figures', latestTable(lists, reading))}
${shown.items.map(({ list, drawing }) => drawing !== null && listSection(list, drawing, reading))}</div>
${pager(shown, (number) => `/lists/${encodeURIComponent(job)}${number === 1 ? '' : `?page=${number}`}`)}`;
}

function latestTable(lists: readonly ListTrend[], reading: Reading): Markup {
  return dataTable({
    caption: 'The latest figures of each list, and the change since the reading before',
    captionHidden: true,
    columns: [
      { header: 'List' },
      ...MEASURES.flatMap(({ name }) => [
        { header: sentence(name), numeric: true },
        { header: 'Change', numeric: true, bare: true },
      ]),
      { header: 'Read', short: true },
    ],
    rows: lists.map(({ id, latest, before, gone }) => [
      html`${foreign(shownListName(latest))} <span class="quiet">${printable(id)}</span>${gone && html` ${badge('quiet', 'No longer in the store')}`}`,
      ...MEASURES.flatMap((measure) => [
        shownFigure(measure, latest),
        html`<span class="tone-${changeTone(measure, before, latest)}">${changeOf(measure, before, latest) || '–'}</span>`,
      ]),
      relative(latest.readAt, reading),
    ]),
  });
}

function listSection(
  { id, latest, first, formerNames, gone, points }: ListTrend,
  drawing: ListDrawing,
  reading: Reading,
): Markup {
  return section(
    `list-${encodeURIComponent(id)}`,
    html`${foreign(shownListName(latest))} <span class="quiet">id ${printable(id)}</span>`,
    html`${formerNames.length > 0 && html`<p class="quiet">Formerly ${foreign(listed(formerNames))}</p>`}
${gone && html`<p class="notice">The store no longer has this list; it was last read ${relative(latest.readAt, reading)}.</p>`}
<div class="plots">${plotFigure(`Subscribers${wholeChange(first, latest, points)}`, drawing.subscribers)}${drawing.rates !== null && plotFigure('Open and click rate, %', drawing.rates)}</div>`,
  );
}

function wholeChange(first: HistoryPoint, latest: HistoryPoint, points: readonly HistoryPoint[]): string {
  const [subscribers] = MEASURES;
  if (subscribers === undefined || points.length < 3) return '';
  const change = changeOf(subscribers, first, latest);
  return change === '' ? '' : `: ${change} over ${points.length} readings`;
}

function noReadings({ job, location, program }: ListPageFacts, { viewer }: Frame): Markup {
  return html`<section class="empty"><h2>No readings yet</h2>
<p><code>${location}</code> is empty. Each run of <a href="${jobHref(job)}">${job}</a> adds one line per list. ${viewer.canAct ? html`<a href="${jobHref(job)}/run">Run it now</a>, or type:` : 'To take the first reading, type:'}</p>
<pre><code>${program} run ${job}</code></pre></section>`;
}
