import { ACTIONS, includesRole, mayDo } from '../../model/action.ts';
import { member, objectsIn, withoutAbsent } from '../../model/json-object.ts';
import { CONFLICT_SIDES } from '../../model/observation.ts';
import { sectionMarkup } from '../../report/html/document-sections.ts';
import { code, dataTable, foreign, html, quiet, section, styledText } from '../../report/html/markup.ts';
import {
  type FoundRecord,
  findRecords,
  type RecordField,
  type RecordState,
  type RecordVersion,
  recordState,
} from '../../run/records/record-history.ts';
import { changeText, OTHER_URL, valueText } from '../../run/records/run-records.ts';
import { counted, formatBytes, shellWord } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFoundError } from '../guard/page-error.ts';
import type { PageRequest } from '../route-parts.ts';
import {
  actionButton,
  actionHref,
  buttonRow,
  CONFLICT_BUTTONS,
  jobLink,
  linkButton,
  queryOf,
  runLink,
} from './link-button.ts';
import { emptyBox, momentAndDistance, type Page, type Reading, tableBox } from './page.ts';
import { filterForm } from './post-form.ts';

const RECORDS_FOUND = 50;
/** The newest versions are shown; `history` prints all. */
const VERSIONS_SHOWN = 100;
const CHANGES_SHOWN = 12;
const VALUE_SHOWN = 300;
/** Numbers of variants that have a plot. */
const PLOTTED = [
  ['price', 'Price'],
  ['quantity', 'Stock'],
] as const;

/** A search over all records that the ledger knows, or the page of one record: its timeline and what is acknowledged. */
export async function historyPage(
  dashboard: DashboardContext,
  { fields: { q = '', store, resource, key }, viewer, reading }: PageRequest,
): Promise<Page> {
  const { context, readWorkspace } = dashboard;
  const workspace = readWorkspace();
  const names = store === undefined ? workspace.storeNames() : [store];
  const stores = names.map((name) => workspace.store(name));
  const text = (key ?? q).trim();
  const hits = (await findRecords(context, stores, text, RECORDS_FOUND)).filter(
    ({ target }) =>
      (includesRole(viewer.role, 'operate') || target.resource === 'products') &&
      (resource === undefined || target.resource === resource),
  );
  const [only] = hits;
  if (only !== undefined && (hits.length === 1 || key !== undefined))
    return await recordPage(dashboard, only, viewer, reading);
  if (key !== undefined) throw notFoundError('No record has this key.');
  return {
    title: 'Records',
    section: 'records',
    body: html`${searchForm(text)}${text === '' ? INTRODUCTION : found(hits, text)}`,
  };
}

/** The address of the page of a record. */
export function historyHref({
  store,
  target,
  key,
}: Pick<FoundRecord, 'store' | 'key'> & { readonly target: { readonly resource: string } }): string {
  return `/records${queryOf({ store, resource: target.resource, key })}`;
}

function searchForm(text: string) {
  const control = html`<input id="q" name="q" type="search" value="${text}" required>`;
  const label = 'Url, id, SKU, or a part of a title or name';
  return filterForm('/records', [{ name: 'q', label, control }], 'Search');
}

const INTRODUCTION = styledText(
  'quiet',
  'The page of a record shows what the store last acknowledged, and when each value changed, by which run, from which file and line.',
);

function found(hits: readonly FoundRecord[], text: string) {
  if (hits.length === 0)
    return emptyBox('No record matches', 'Storeferry knows the records that it has sent.');
  const caption =
    hits.length === RECORDS_FOUND
      ? `The first ${RECORDS_FOUND} records that match ${text}`
      : `${counted(hits.length, 'record')} match ${text}`;
  return tableBox({
    caption: foreign(caption),
    columns: ['Key', ['Title', 'bare'], ['Id', 'short'], 'Store'],
    rows: hits.map((hit) => [
      html`<a href="${historyHref(hit)}">${foreign(hit.key)}</a>`,
      foreign(hit.title ?? ''),
      hit.id ?? '',
      hit.store,
    ]),
  });
}

async function recordPage(
  { context, program }: DashboardContext,
  record: FoundRecord,
  viewer: Viewer,
  reading: Reading,
): Promise<Page> {
  const state = await recordState(context, record.target, record.key);
  const size = await context.state.history(record.target).size();
  const plots = trendsOf(state.versions, reading.now);
  const trend = sectionMarkup({
    id: 'trend',
    title: 'Price and stock',
    blocks: [{ kind: 'plot', of: { figure: 'trends', timezone: reading.timezone, trends: plots } }],
  });
  const command = `${program} history ${shellWord(record.key)} --store ${shellWord(record.store)}`;
  return {
    title: record.title ?? record.key,
    section: 'records',
    heading: foreign(record.title ?? record.key),
    body: html`${searchForm('')}<p class="page-lead">${code(foreign(record.key))} in the store <b>${record.store}</b>${state.id !== null && html`, id ${state.id}`}. ${stateWords(state)}</p>
<div class="report">${plots.length > 0 && trend}
${state.held.map((held) => heldPart(held, record.key, viewer))}
${state.edited.length > 0 && editedPart(state.edited, reading)}
${timeline(state.versions, reading)}
${actionButtons(record, state, viewer)}
${state.fields.length > 0 && acknowledged(state.fields, reading)}</div>
<p class="quiet">The history of ${record.target.resource} of ${record.store} has ${counted(size.versions, 'version')}, about ${formatBytes(size.bytes)}. The same in a terminal: ${code(foreign(command))}</p>`,
  };
}

function stateWords({ state, job }: RecordState) {
  switch (state) {
    case 'acknowledged':
      return html`It belongs to ${job ? html`the job ${jobLink(job)}` : 'no job'}.`;
    case 'in-doubt':
      return html`<b>In doubt</b>: a later request may have arrived; the next run sends the record again.`;
    case 'unknown':
      return html`<b>Not known to be in the store</b>: it was deleted, or never acknowledged.`;
    default:
      return state satisfies never;
  }
}

/** Values that a guard of a job holds, beside those that the store has. */
function heldPart(
  { run, job, changes, edited, moved }: RecordState['held'][number],
  key: string,
  viewer: Viewer,
) {
  const choices = edited
    ? CONFLICT_SIDES.map((side) => ({ label: CONFLICT_BUTTONS[side], query: { key, conflicts: side } }))
    : [{ label: 'Release', query: { key } }];
  return section(
    `held-${run}`,
    edited ? 'Changed in the store and in the source' : moved ? 'Held' : 'Held by a guard',
    html`<p>${runLink(run, 'Run')} of ${jobLink(job)} did not send these values.${moved && ` The record ${OTHER_URL}.`}</p>
${dataTable({
  caption: 'Held values',
  captionHidden: true,
  columns: ['Field', [edited ? 'In the store' : 'Old', 'short'], [edited ? 'In the source' : 'New', 'short']],
  rows: changes.map(({ field, variant, old, new: now }) => [
    fieldName(field, variant),
    foreign(valueText(old), VALUE_SHOWN),
    foreign(valueText(now), VALUE_SHOWN),
  ]),
})}
${mayDo(viewer.role, 'release') && buttonRow(...choices.map((choice) => actionButton(viewer, 'release', run, choice)))}`,
  );
}

function fieldName(field: string, variant: string | null) {
  return html`${code(field)}${variant !== null && html` ${foreign(variant)}`}`;
}

/** Fields that somebody edited in the store. */
function editedPart(edited: RecordState['edited'], reading: Reading) {
  return section(
    'edited',
    'Edited in the store',
    dataTable({
      caption: 'Fields that were edited in the store',
      captionHidden: true,
      columns: ['Field', ['Value there', 'bare'], 'Seen since'],
      rows: edited.map(({ field, value, since }) => [
        code(field),
        foreign(valueText(value), VALUE_SHOWN),
        momentAndDistance(Date.parse(since), reading),
      ]),
    }),
  );
}

/** Takes back what the newest run changed, earlier runs only as far as nothing has changed since; or removes a contact. */
function actionButtons(
  { store, target, key }: FoundRecord,
  { versions: [newest] }: RecordState,
  viewer: Viewer,
) {
  const undo =
    newest !== undefined &&
    newest.kind !== 'absent' &&
    actionButton(viewer, 'undo', newest.run, { label: 'Undo the last change', query: { key } });
  const forget =
    target.resource === 'contacts' &&
    mayDo(viewer.role, 'forget') &&
    linkButton(actionHref('forget', key, { store, key }), ACTIONS.forget.confirm);
  return mayDo(viewer.role, 'undo') && buttonRow(undo, forget);
}

function timeline(versions: readonly RecordVersion[], reading: Reading) {
  if (versions.length === 0)
    return emptyBox(
      'No version is kept',
      'The record was last acknowledged before the history began, or longer ago than the history of the store is kept.',
    );
  return section(
    'timeline',
    'Timeline',
    dataTable({
      caption: `${counted(versions.length, 'version')}, newest first`,
      columns: ['Time', ['Change', 'bare'], 'From', ['Run', 'short'], ['Job', 'short']],
      rows: versions
        .slice(0, VERSIONS_SHOWN)
        .map((version) => [
          momentAndDistance(version.at, reading),
          changesMarkup(version),
          version.place === null ? '' : code(foreign(version.place)),
          html`<a href="/runs/${version.run}/outcomes">${version.run}</a>`,
          jobLink(version.job),
        ]),
    }),
  );
}

function changesMarkup({ kind, created, changes, id }: RecordVersion) {
  switch (kind) {
    case 'deleted':
      return html`deleted`;
    case 'absent':
      return html`the store no longer has it`;
    case 'acknowledged': {
      if (created) return html`created${id !== null && html` with id ${id}`}`;
      if (changes === null) return html`what it changed cannot be read`;
      if (changes.length === 0) return quiet('sent again, unchanged');
      const more = changes.length - CHANGES_SHOWN;
      return html`<ul>${changes.slice(0, CHANGES_SHOWN).map((change) => html`<li>${foreign(changeText(change), VALUE_SHOWN)}</li>`)}${more > 0 && html`<li class="quiet">and ${counted(more, 'more change')}</li>`}</ul>`;
    }
    default:
      return kind satisfies never;
  }
}

function acknowledged(fields: readonly RecordField[], reading: Reading) {
  return section(
    'body',
    'Acknowledged body',
    dataTable({
      caption: 'Each field, and the version that last changed it',
      captionHidden: true,
      columns: ['Field', ['Value', 'bare'], 'Last changed by'],
      rows: fields.map(({ field, variant, value, setBy }) => [
        fieldName(field, variant),
        foreign(valueText(value), VALUE_SHOWN),
        setBy === null
          ? quiet('before the history')
          : html`${jobLink(setBy.job)} ${momentAndDistance(setBy.at, reading)}`,
      ]),
    }),
  );
}

/** Price and stock of each variant as steps, until now; none where they never changed. */
function trendsOf(versions: readonly RecordVersion[], now: number) {
  return PLOTTED.flatMap(([field, title]) => {
    const series = new Map<string, { at: number; value: number }[]>();
    for (const { at, body } of versions.toReversed()) {
      for (const { name, value } of body ? valuesOf(body, field) : []) {
        const points = series.get(name) ?? [];
        const last = points.at(-1);
        // A step: the earlier value holds until this moment.
        points.push(...(last === undefined ? [] : [{ at, value: last.value }]), { at, value });
        series.set(name, points);
      }
    }
    const drawn = [...series].map(([name, points]) => {
      const last = points.at(-1);
      return {
        name,
        points: withoutAbsent([...points, last !== undefined && { at: now, value: last.value }]),
      };
    });
    return drawn.length === 0 ? [] : [{ title, series: drawn }];
  });
}

function valuesOf(body: string, field: string) {
  return objectsIn(JSON.parse(body), 'variants').flatMap((variant) => {
    const value = member(variant, field);
    const options = member(variant, 'options');
    const name = Array.isArray(options) ? options.join(' / ') : '';
    return typeof value === 'number' ? [{ name: name || String(member(variant, 'sku') ?? ''), value }] : [];
  });
}
