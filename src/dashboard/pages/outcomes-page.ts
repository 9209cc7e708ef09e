import { mayDo } from '../../model/action.ts';
import { RECORD_OUTCOMES } from '../../model/run.ts';
import { code, foreign, html, link, quiet } from '../../report/html/markup.ts';
import { changeText, type RunRecord, runRecords } from '../../run/records/run-records.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { PageRequest } from '../route-parts.ts';
import { historyHref } from './history-page.ts';
import { actionButton, actionHref, buttonRow, runLink } from './link-button.ts';
import { emptyBox, type Page, pageOf, pager, tableBox } from './page.ts';
import { filterForm, namedChoices, select } from './post-form.ts';
import type { RecordsOfRun } from './record-page.ts';

const RECORDS_PER_PAGE = 50;
/** A page reads no more records of a run than this, which takes a tenth of a second; its files have all. */
const MAX_READ = 5_000;
const TEXT_SHOWN = 400;

/** The outcome of each record of a run, filtered by outcome. */
export async function outcomesPage(
  dashboard: DashboardContext,
  { subject: id, fields, viewer }: PageRequest,
  { run, ledger }: RecordsOfRun,
): Promise<Page> {
  const { context } = dashboard;
  const outcome = RECORD_OUTCOMES.find((known) => known === fields['outcome']);
  const records: RunRecord[] = [];
  const read = { records: 0 };
  for await (const batch of runRecords(context, { ...ledger, run, outcome, read })) {
    records.push(...batch);
    if (read.records >= MAX_READ) break;
  }
  const among = read.records >= MAX_READ ? ` among the first ${grouped(read.records)} of this run` : '';
  const shown = pageOf(records, RECORDS_PER_PAGE, fields['page']);
  return {
    title: `Records of run ${id}`,
    section: 'runs',
    heading: html`Records of run ${id}`,
    lead: html`${run === undefined ? html`Run ${id}, of which the history is kept${mayDo(viewer.role, 'undo') && html` (<a href="${actionHref('undo', id)}">undo it</a>)`}` : html`${runLink(id, 'Run')} of ${run.job}`}. Unchanged records are not listed.`,
    body: html`${filterForm(`/runs/${id}/outcomes`, [{ name: 'outcome', label: 'Outcome', control: select('outcome', CHOICES, outcome ?? '') }])}
${outcome === 'held' && records.length > 0 && mayDo(viewer.role, 'release') && buttonRow(actionButton(viewer, 'release', id))}
${
  records.length === 0
    ? emptyBox(
        'No records',
        among === ''
          ? 'No record of this run has this outcome, or its versions are no longer kept.'
          : `None${among} has this outcome.`,
      )
    : tableBox({
        caption: `${counted(records.length, 'record')}${among}`,
        columns: ['Key', ['Outcome', 'short'], 'From', ['What', 'bare']],
        rows: shown.items.map(({ key, outcome, place, reason, created, changes, title }) => {
          const changed = created ? 'new' : (changes ?? []).map(changeText).join('; ');
          return [
            key === null ? quiet('no key') : link(historyHref({ ...ledger, key }), foreign(key)),
            outcome,
            place === null ? '' : code(foreign(place)),
            foreign(reason?.message ?? title ?? changed, TEXT_SHOWN),
          ];
        }),
      })
}
${pager(shown, `/runs/${id}/outcomes`, { outcome })}
<p>All of them as a file: <a href="${actionHref('download-records', id)}.xlsx">workbook</a>, <a href="${actionHref('download-records', id)}.csv">CSV</a></p>`,
  };
}

const CHOICES = [['', 'All outcomes'] as const, ...namedChoices(RECORD_OUTCOMES)];
