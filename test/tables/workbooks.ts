import { makeZip } from '../source/make-zip.ts';

/** A cell to write: a text, a number, or what only one format can say. */
export type CellToWrite =
  | string
  | number
  | boolean
  | null
  | {
      readonly number?: number | string;
      /** A number format such as `0.00%`. */
      readonly format?: string;
      readonly error?: string;
      readonly formula?: string;
      /** The stored result of the formula, as text. */
      readonly result?: string;
      /** For an .ods: what is shown, where it differs from the number. */
      readonly shown?: string;
      /** For an .ods: it covers so many columns and rows, and contains `result`. */
      readonly spans?: readonly [columns: number, rows: number];
      /** For an .ods: another cell covers it. */
      readonly covered?: boolean;
    };

/** A sheet to write. */
export interface SheetToWrite {
  readonly name: string;
  readonly rows: readonly (readonly CellToWrite[])[];
  readonly hidden?: boolean;
  /** Such as `A2:A4`; of an .xlsx. */
  readonly merged?: readonly string[];
  /** Numbers of rows. */
  readonly hiddenRows?: readonly number[];
  /** Numbers of rows of texts. */
  readonly struckRows?: readonly number[];
}

/** The bytes of an .xlsx with these sheets; texts are shared unless they are to stand in the cells. */
export function makeXlsx(
  sheets: readonly SheetToWrite[],
  options: {
    readonly inline?: boolean;
    readonly date1904?: boolean;
    readonly more?: Readonly<Record<string, string>>;
  } = {},
): Buffer {
  const strings = new Map<string, number>();
  const formats = new Map<string, number>();
  const parts = sheets.map((sheet) => sheetXml(sheet, strings, formats, options.inline === true));
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`;
  const relations = (inner: string) =>
    `${XML}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${inner}</Relationships>`;
  return makeZip(
    Object.entries({
      '[Content_Types].xml': `${XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
      '_rels/.rels': relations(relation('rId1', 'officeDocument', 'xl/workbook.xml')),
      'xl/workbook.xml': `${XML}<workbook ${MAIN} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><workbookPr${options.date1904 === true ? ' date1904="1"' : ''}/><sheets>${sheets
        .map(
          ({ name, hidden }, index) =>
            `<sheet name="${escaped(name)}" sheetId="${index + 1}"${hidden === true ? ' state="hidden"' : ''} r:id="rId${index + 1}"/>`,
        )
        .join('')}</sheets></workbook>`,
      'xl/_rels/workbook.xml.rels': relations(
        [
          ...sheets.map((_, index) =>
            relation(`rId${index + 1}`, 'worksheet', `worksheets/sheet${index + 1}.xml`),
          ),
          relation('rIdStyles', 'styles', 'styles.xml'),
          relation('rIdStrings', 'sharedStrings', '/xl/sharedStrings.xml'),
        ].join(''),
      ),
      'xl/styles.xml': `${XML}<styleSheet ${MAIN}><numFmts>${[...formats]
        .map(([code], index) => `<numFmt numFmtId="${200 + index}" formatCode="${escaped(code)}"/>`)
        .join(
          '',
        )}</numFmts><fonts><font/><font><strike/></font></fonts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="0" fontId="1"/>${[
        ...formats,
      ]
        .map((_, index) => `<xf numFmtId="${200 + index}"/>`)
        .join('')}</cellXfs></styleSheet>`,
      'xl/sharedStrings.xml': `${XML}<sst ${MAIN}>${[...strings.keys()]
        .map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`)
        .join('')}</sst>`,
      ...Object.fromEntries(parts.map((part, index) => [`xl/worksheets/sheet${index + 1}.xml`, part])),
      ...options.more,
    }).map(([name, content]) => ({ name, content })),
  );
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

function sheetXml(
  { rows, merged = [], hiddenRows = [], struckRows = [] }: SheetToWrite,
  strings: Map<string, number>,
  formats: Map<string, number>,
  inline: boolean,
): string {
  const data = rows.map((cells, index) => {
    const written = cells.map((cell, column) => {
      const at = `r="${letters(column)}${index + 1}"${struckRows.includes(index + 1) ? ' s="1"' : ''}`;
      if (cell === null || cell === '') return '';
      if (typeof cell === 'number') return `<c ${at}><v>${cell}</v></c>`;
      if (typeof cell === 'boolean') return `<c ${at} t="b"><v>${Number(cell)}</v></c>`;
      if (typeof cell === 'string') {
        if (inline) return `<c ${at} t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`;
        const number = strings.get(cell) ?? strings.set(cell, strings.size).size - 1;
        return `<c ${at} t="s"><v>${number}</v></c>`;
      }
      if (cell.error !== undefined) return `<c ${at} t="e"><v>${cell.error}</v></c>`;
      if (cell.formula !== undefined) {
        const isText = cell.result !== undefined && Number.isNaN(Number(cell.result));
        return `<c ${at}${isText ? ' t="str"' : ''}><f>${escaped(cell.formula)}</f>${cell.result === undefined ? '' : `<v>${escaped(cell.result)}</v>`}</c>`;
      }
      const format = cell.format ?? 'General';
      if (!formats.has(format)) formats.set(format, formats.size + 2);
      return `<c ${at} s="${formats.get(format)}"><v>${cell.number}</v></c>`;
    });
    const isHidden = hiddenRows.includes(index + 1) ? ' hidden="1"' : '';
    return written.join('') === '' ? '' : `<row r="${index + 1}"${isHidden}>${written.join('')}</row>`;
  });
  const merges =
    merged.length === 0
      ? ''
      : `<mergeCells>${merged.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;
  return `${XML}<worksheet ${MAIN}><sheetData>${data.join('')}</sheetData>${merges}</worksheet>`;
}

/** The bytes of an .ods with these sheets; numbers are shown as the format or `shown` says, with a decimal comma. */
export function makeOds(sheets: readonly SheetToWrite[]): Buffer {
  const tables = sheets.map(({ name, rows, hidden, hiddenRows = [], struckRows = [] }) => {
    const written = rows.map(
      (cells, index) =>
        `<table:table-row${hiddenRows.includes(index + 1) ? ' table:visibility="collapse"' : ''}${struckRows.includes(index + 1) ? ' table:default-cell-style-name="struck"' : ''}>${cells.map(odsCell).join('')}</table:table-row>`,
    );
    const style = hidden === true ? ' table:style-name="off"' : '';
    return `<table:table table:name="${escaped(name)}"${style}>${written.join('')}<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>`;
  });
  return makeZip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet', stored: true },
    {
      name: 'content.xml',
      content: `${XML}<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x" xmlns:style="s" xmlns:calcext="c"><office:automatic-styles><style:style style:name="off"><style:table-properties table:display="false"/></style:style><style:style style:name="struck"><style:text-properties style:text-line-through-style="solid"/></style:style></office:automatic-styles><office:body><office:spreadsheet>${tables.join('')}</office:spreadsheet></office:body></office:document-content>`,
    },
  ]);
}

function odsCell(cell: CellToWrite): string {
  const paragraphs = (text: string) =>
    text
      .split('\n')
      .map((line) => `<text:p>${escaped(line)}</text:p>`)
      .join('');
  if (cell === null || cell === '') return '<table:table-cell/>';
  if (typeof cell === 'object' && cell.covered === true) return '<table:covered-table-cell/>';
  if (typeof cell === 'object' && cell.spans !== undefined) {
    const [columns, rows] = cell.spans;
    const spanned = `table:number-columns-spanned="${columns}" table:number-rows-spanned="${rows}"`;
    return odsCell(cell.result ?? null).replace('<table:table-cell', `<table:table-cell ${spanned}`);
  }
  if (typeof cell === 'string')
    return `<table:table-cell office:value-type="string">${paragraphs(cell)}</table:table-cell>`;
  if (typeof cell === 'boolean') {
    return `<table:table-cell office:value-type="boolean" office:boolean-value="${cell}">${paragraphs(cell ? 'WAHR' : 'FALSCH')}</table:table-cell>`;
  }
  if (typeof cell === 'number') {
    return `<table:table-cell office:value-type="float" office:value="${cell}">${paragraphs(String(cell).replace('.', ','))}</table:table-cell>`;
  }
  if (cell.error !== undefined) {
    return `<table:table-cell table:formula="of:=1" office:value-type="string" office:string-value="" calcext:value-type="error">${paragraphs(cell.error)}</table:table-cell>`;
  }
  if (cell.formula !== undefined) {
    return cell.result === undefined
      ? `<table:table-cell table:formula="of:=${escaped(cell.formula)}"/>`
      : `<table:table-cell table:formula="of:=${escaped(cell.formula)}" office:value-type="float" office:value="${cell.result}">${paragraphs(cell.result)}</table:table-cell>`;
  }
  if (cell.format === 'date' || cell.format === 'time')
    return `<table:table-cell office:value-type="${cell.format}" office:${cell.format}-value="${cell.number}">${paragraphs(cell.shown ?? '')}</table:table-cell>`;
  const type = cell.format === '%' ? 'percentage' : 'float';
  return `<table:table-cell office:value-type="${type}" office:value="${cell.number}">${paragraphs(cell.shown ?? String(cell.number))}</table:table-cell>`;
}

function letters(column: number): string {
  return column < 26
    ? String.fromCharCode(65 + column)
    : letters(Math.floor(column / 26) - 1) + letters(column % 26);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
