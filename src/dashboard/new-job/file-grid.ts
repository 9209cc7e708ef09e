import { isHttpUrl } from '../../model/remote-address.ts';
import { isSheet, type Row } from '../../model/row.ts';
import type { AskedQuestion, DraftFile } from '../../onboarding/job-draft.ts';
import {
  columnWords,
  fieldLabel,
  fieldsOf,
  type LeftOutRows,
  type PreviewedRecord,
  type ProposedColumn,
  type SourceLook,
  type SourcePreview,
} from '../../onboarding/preview-source.ts';
import { code, foreign, html, type Markup, quiet, type Slot, styledText } from '../../report/html/markup.ts';
import { valueText } from '../../report/record-view.ts';
import { capitalise, counted, grouped, printable } from '../../text/printable.ts';
import type { Upload } from '../actions/uploads.ts';
import { fact, foldedPart } from '../pages/page.ts';
import { attributes, type Choice, input, select } from '../pages/post-form.ts';

/** Of a file with more columns those that are used are shown as well. Each column has a choice of all fields. */
export const MAX_COLUMNS_SHOWN = 300;
/** Longer texts are cut. */
const MAX_CELL_SHOWN = 60;
const MAX_VARIANTS_SHOWN = 6;

/** The first rows of a file as they are: with what each row is, and the field that each column fills. */
export function fileGrid({ look, guess }: DraftFile): Markup {
  const { beginning, headerLine, rows, header } = look;
  const { proposal, imports, recognised, mapping, preview } = guess;
  const fields = Object.entries(imports === undefined ? {} : fieldsOf(imports)).map(
    ([name, { label }]): Choice => [name, label],
  );
  const known = new Set(recognised.guess.fitting.find(({ name }) => name === mapping)?.used);
  const width = Math.max(header.length, ...beginning.map(({ cells }) => cells.length));
  const columns = Array.from({ length: width }, (_, index): GridColumn => {
    const proposed = proposal?.columns[index];
    const isUsed = proposed === undefined ? known.has(header[index] ?? '') : proposed.field !== null;
    const used = proposed?.confidence === 'likely' ? 'likely' : 'used';
    return { index, proposed, look: isUsed ? used : proposed?.isOpen === true ? 'open' : 'unused' };
  });
  const shown = columns.filter(({ index, look }) => index < MAX_COLUMNS_SHOWN || look !== 'unused');
  const hasRows = headerLine > 0;
  const leftOut = typeof preview === 'object' ? preview.leftOut : [];
  const dataLine = recordRows(look, preview)[0]?.line ?? headerLine + 1;
  return html`${hasRows && html`<input type="hidden" name="was.headerRow" value="${headerLine}"><input type="hidden" name="was.dataRow" value="${dataLine}">`}
<p class="hint">Scroll the table sideways to see all of its ${counted(shown.length, 'column')}.</p>
<div class="grid-scroll" tabindex="0" role="region" aria-label="The first rows of the file" data-keeps-scroll>
<table class="file-grid"><caption class="unseen">The first rows of the file, with the field of the store that each column fills</caption>
<thead><tr><th scope="col">${isSheet(look.places) ? 'Row' : hasRows ? 'Line' : 'Record'}</th>${hasRows && html`<th scope="col" id="headerRow">Header</th><th scope="col">Data</th>`}${shown.map((column) => columnHead(column, fields, look))}</tr></thead>
<tbody>${beginning.map(({ line, cells }) => {
    const why = leftOut.find(({ from, to }) => line >= from && line <= to);
    const what = rowKind(line, headerLine, rows[0]?.line ?? dataLine, why);
    return html`<tr class="${what?.style ?? 'data'}"><th scope="row">${grouped(line)}${what !== undefined && html` <span class="tag">${what.name}</span>`}</th>${hasRows && rowRoles(line, headerLine, dataLine)}${rowCells(line, cells, shown, look, why)}</tr>\n`;
  })}</tbody></table></div>
<p class="hint">${hasRows && html`Choose the row with the names of the columns under <b>Header</b>, and the first row of products or contacts under <b>Data</b>. `}${proposal !== undefined && 'Above each column, choose the field of the store that it fills. '}<span class="key used">used</span> <span class="key likely">used, please check</span> ${shown.some(({ look }) => look === 'open') && html`<span class="key open">open until the questions above are answered</span> `}<span class="key">not used</span></p>
${columnsNotShown(columns.length - shown.length)}
${proposal !== undefined && html`${foldedPart('Why each column is used', html`<dl class="body">${proposal.columns.filter(({ field }) => field !== null).map(({ header, field, evidence }) => fact(foreign(columnWords(header, look), MAX_CELL_SHOWN), html`${fields.find(([name]) => name === field)?.[1] ?? field}: ${foreign(evidence)}`))}</dl>`)}`}`;
}

/** The rows that become records or are rejected: no headings, and none that is left out. */
export function recordRows(
  { rows }: SourceLook,
  preview: SourcePreview | string | undefined,
): readonly Row[] {
  const leftOut = typeof preview === 'object' ? preview.leftOut : [];
  return rows.filter(
    ({ heading, line }) =>
      heading !== true &&
      !leftOut.some(({ kind, from, to }) => kind !== 'rejected' && line >= from && line <= to),
  );
}

interface GridColumn {
  readonly index: number;
  readonly proposed: ProposedColumn | undefined;
  readonly look: 'used' | 'likely' | 'open' | 'unused';
}

/** Says how many columns a page leaves out. */
export function columnsNotShown(count: number): Markup | null {
  if (count === 0) return null;
  return html`<p class="notice">${counted(count, 'more column')} of the file, not used and not shown here. To use one of them, edit the file of the mapping.</p>`;
}

function columnHead(
  { index, proposed, look: style }: GridColumn,
  fields: readonly Choice[],
  look: SourceLook,
) {
  const { header, headerLine } = look;
  const name = columnWords(header[index] ?? '', look);
  // A header among the rows is shown there.
  const shown = headerLine === 0 && html`<span class="name">${foreign(name, MAX_CELL_SHOWN)}</span>`;
  const field = proposed?.field ?? null;
  const isFixed = field !== null && fields.every(([one]) => one !== field);
  const choice =
    proposed === undefined
      ? style === 'used'
        ? 'used'
        : 'not used'
      : name.trim() === ''
        ? quiet('no name')
        : isFixed
          ? capitalise(field).replace(/\.$/, '')
          : html`<input type="hidden" name="was.${index}" value="${field ?? ''}"><input type="hidden" name="header.${index}" value="${proposed.name}">${fieldSelect(index, name, fields, field ?? '', proposed.isOpen ? 'Still open' : undefined)}`;
  return html`<th scope="col" class="${style}">${shown}${choice}</th>`;
}

/** A radio button whose choice renders the page again. */
export function renderingRadio(id: string, name: string, value: string | number, checked: boolean): Markup {
  return input(id, { type: 'radio', name, value, checked, 'data-renders': true });
}

/** The choice of the field that a column of a file fills. */
export function fieldSelect(
  index: number,
  header: string,
  choices: readonly Choice[],
  chosen: string,
  none = 'Not used',
): Markup {
  return select(`field.${index}`, [['', none], ...choices], chosen, {
    id: `field-${index}`,
    'aria-label': `Field of the column ${printable(header)}`,
    'data-renders': true,
  });
}

/** What a row is besides data. */
function rowKind(
  line: number,
  headerLine: number,
  firstLine: number,
  why: LeftOutRows | undefined,
): { readonly style: string; readonly name: string } | undefined {
  if (line === headerLine) return { style: 'header', name: 'header' };
  if (line < firstLine) return { style: 'not-read', name: 'not read' };
  if (why === undefined) return undefined;
  if (why.kind === 'rejected') return { style: 'bad', name: 'rejected' };
  return { style: 'not-read', name: why.reason.code === 'a-heading' ? 'heading' : 'left out' };
}

function rowRoles(line: number, headerLine: number, dataLine: number) {
  const radio = (name: string, label: string, chosen: number) =>
    html`<td class="role"><label class="unseen" for="${name}-${line}">${label} ${line}</label>${renderingRadio(`${name}-${line}`, name, line, line === chosen)}</td>`;
  return html`${radio('headerRow', 'Header in row', headerLine)}${line > headerLine ? radio('dataRow', 'Data from row', dataLine) : html`<td class="role"></td>`}`;
}

/** The cells of a row; merged ones are one. */
function rowCells(
  line: number,
  cells: readonly string[],
  shown: readonly GridColumn[],
  { merged, headerLine, header }: SourceLook,
  why: LeftOutRows | undefined,
): readonly Markup[] {
  const blamed = why?.kind === 'rejected' ? header.indexOf(why.reason.column ?? '\0') : -1;
  return shown.flatMap(({ index, look }) => {
    const range = merged.find(
      ([top, bottom, left, right]) => line >= top && line <= bottom && index >= left && index <= right,
    );
    const [top = line, , left = index, right = index] = range ?? [];
    if (index !== left && shown.some((one) => one.index === left)) return [];
    const span =
      range === undefined ? 1 : shown.filter((one) => one.index >= index && one.index <= right).length;
    const cell = cells[index] ?? '';
    const text =
      index === blamed
        ? html`<mark>${cell === '' ? 'blank' : foreign(cell, MAX_CELL_SHOWN)}</mark>`
        : foreign(cell, MAX_CELL_SHOWN);
    const style = range === undefined ? (line > headerLine ? look : '') : 'merged';
    return [
      html`<td class="${style}"${attributes({ colspan: span > 1 && span })}>${text}${range !== undefined && html` <span class="tag">merged${line > top && ' from above'}</span>`}</td>`,
    ];
  });
}

/** The address of the first picture of the first product; undefined where it has none on the web. */
export function firstPicture({ guess: { preview } }: Pick<DraftFile, 'guess'>): string | undefined {
  const value = firstMapped(preview)?.fields.find(({ path }) => path === 'images[0]')?.value;
  return typeof value === 'string' && isHttpUrl(value) ? value : undefined;
}

/** The file of an uploaded ZIP that a cell names; `path`: where it is there, undefined if it is not. */
export interface ZippedPicture {
  readonly zip: Upload;
  readonly named: string;
  readonly path: string | undefined;
}

/** The first product or contact as the store will show it. `pictureHref`: where the dashboard shows its picture. */
export function firstRecord(
  { guess: { preview, imports }, currency }: DraftFile,
  pictureHref: string | undefined,
  zipped?: ZippedPicture,
): Markup | null {
  const record = firstMapped(preview);
  if (record === undefined) return null;
  const values = new Map(record.fields.map(({ path, value }) => [path, value]));
  const text = (path: string) => {
    const value = values.get(path);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  if (imports !== 'products') {
    const name = text('name') || [text('firstName'), text('lastName')].join(' ').trim();
    return html`<aside class="first-record" aria-label="The first contact"><h2>${foreign(name || text('email'))}</h2><p>${foreign(text('email'))}</p></aside>`;
  }
  if (text('title') === '')
    return html`<aside class="first-record" aria-label="The first product that changes">${styledText('quiet', 'The first product that changes')}<h2>${foreign(record.key ?? '', 120)}</h2><dl>${record.fields.slice(0, MAX_VARIANTS_SHOWN).map(({ path, value }) => fact(fieldLabel('products', path.replace(/^.*\./, '')), foreign(typeof value === 'string' ? value : valueText(value, MAX_CELL_SHOWN), MAX_CELL_SHOWN)))}</dl></aside>`;
  const picture = text('images[0]');
  const pictures = record.fields.filter(({ path }) => /^images\[\d+\]$/.test(path)).length;
  const variants = variantsOf(record);
  const prices = variants.flatMap(({ price }) => (typeof price === 'number' ? [price] : []));
  const [least, most] = [Math.min(...prices), Math.max(...prices)];
  const description = text('description')
    .replaceAll(/<[^<>]{0,1000}>/g, ' ')
    .trim();
  return html`<aside class="first-record" aria-label="The first product as the store will show it">
${styledText('quiet', 'The first product as the store will show it')}
${pictureHref !== undefined && html`<p class="picture"><img src="${pictureHref}" alt=""></p>`}
<p class="${pictureHref === undefined && 'no-picture'}">${pictureWords(picture, pictures, zipped)}</p>
<h2>${foreign(text('title'), 120)}</h2>
<p class="price">${prices.length === 0 ? quiet('No price') : least === most ? money(least, currency) : `${money(least, currency)} to ${money(most, currency)}`}</p>
${description !== '' && html`<p>${foreign(description, 160)}</p>`}
${variants.length > 1 && html`<ul>${variants.slice(0, MAX_VARIANTS_SHOWN).map(({ options, price }) => html`<li>${foreign(options.join(', '), 80)}${typeof price === 'number' && ` ${money(price, currency)}`}</li>`)}</ul>${variants.length > MAX_VARIANTS_SHOWN && html`<p class="quiet">and ${counted(variants.length - MAX_VARIANTS_SHOWN, 'more variant')}</p>`}`}
</aside>`;
}

/** Where the picture of the first product is. One of a ZIP is at its address only after a run. */
function pictureWords(picture: string, count: number, zipped: ZippedPicture | undefined): Slot {
  if (picture === '') return 'No picture';
  if (zipped === undefined)
    return html`<a href="${isHttpUrl(picture) ? picture : '#'}" target="_blank" rel="noreferrer noopener">Open ${count === 1 ? 'its picture' : `the first of ${counted(count, 'picture')}`}</a>`;
  const { named, zip, path } = zipped;
  return path === undefined
    ? html`${foreign(zip.name)} has no file ${foreign(named)}`
    : html`${foreign(named)} of ${foreign(zip.name)}`;
}

function firstMapped(preview: DraftFile['guess']['preview']) {
  return typeof preview === 'object' ? preview.records.find(({ kind }) => kind === 'record') : undefined;
}

interface ShownVariant {
  price?: unknown;
  readonly options: string[];
}

function variantsOf({ fields }: PreviewedRecord): readonly ShownVariant[] {
  const variants = new Map<string, ShownVariant>();
  for (const { path, value } of fields) {
    const [, index, name = ''] = /^variants\[(\d+)\]\.([a-z]+)/.exec(path) ?? [];
    if (index === undefined) continue;
    const variant = variants.get(index) ?? { options: [] };
    variants.set(index, variant);
    if (name === 'price') variant.price = value;
    if (name === 'options' && value !== null) variant.options.push(String(value));
  }
  return [...variants.values()];
}

/** An amount with its currency, where that is known. */
function money(amount: number, currency: string | undefined) {
  if (currency === undefined) return new Intl.NumberFormat('en', { minimumFractionDigits: 2 }).format(amount);
  return new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' }).format(amount);
}

interface TreeNode {
  readonly name: string;
  choice: AskedQuestion['choices'][number] | undefined;
  readonly children: Map<string, TreeNode>;
}

/** The elements of a nested file that may be its records, as a tree to choose one from. */
export function recordsTree({ id, text, choices, answer }: AskedQuestion): Markup {
  const root: TreeNode = { name: '', choice: undefined, children: new Map() };
  for (const choice of choices) {
    let node = root;
    for (const name of choice.value.split(/(?<=.)\.| > /)) {
      const child: TreeNode = node.children.get(name) ?? { name, choice: undefined, children: new Map() };
      node.children.set(name, child);
      node = child;
    }
    node.choice ??= choice;
  }
  let number = 0;
  const list = ({ children }: TreeNode): Markup =>
    html`<ul>${[...children.values()].map((node) => {
      const { choice, name } = node;
      const label = html`${code(foreign(name))}${choice !== undefined && html` <span class="quiet">${choice.name.slice(choice.value.length)}${choice.value.includes(' > ') && ' a row for each'}</span>`}`;
      const own = `${id}-${++number}`;
      return html`<li>${choice === undefined ? label : html`${renderingRadio(own, id, choice.value, answer === choice.value)} <label for="${own}">${label}</label>`}${node.children.size > 0 && list(node)}</li>`;
    })}</ul>`;
  return html`<div class="record-tree" role="group" aria-labelledby="${id}"><p id="${id}" tabindex="-1">${text}</p>${list(root)}</div>`;
}
