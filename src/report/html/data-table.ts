import { html, type Markup, type Slot } from './markup.ts';

/** A column of a table: what stands above it, and on a narrow screen before each of its cells. */
export interface Column {
  readonly header: string;
  /** Figures stand to the right, so that they can be compared. */
  readonly numeric?: boolean;
  /** A word or two: on a narrow screen several stand on a line, as figures do. */
  readonly short?: boolean;
  /** Clear without its header, which a narrow screen leaves out. */
  readonly bare?: boolean;
}

/** What a table is made of. The first cell of a row names the row. */
export interface TableParts {
  readonly caption: Slot;
  /** The heading above says the same: only screen readers read the caption. */
  readonly captionHidden?: boolean;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Slot[])[];
  /** Sums of the figures above. */
  readonly foot?: readonly (readonly Slot[])[];
}

/** A table that becomes a list of cards where there is no room for columns. */
export function dataTable({ caption, captionHidden = false, columns, rows, foot = [] }: TableParts): Markup {
  return html`<table class="data">
<caption${captionHidden && html` class="unseen"`}>${caption}</caption>
<thead><tr>${columns.map(
    ({ header, numeric }) => html`<th scope="col"${numeric === true && html` class="num"`}>${header}</th>`,
  )}</tr></thead>
<tbody>
${rows.map((cells) => tableRow(columns, cells))}</tbody>
${foot.length > 0 && html`<tfoot>\n${foot.map((cells) => tableRow(columns, cells))}</tfoot>\n`}</table>
`;
}

function tableRow(columns: readonly Column[], cells: readonly Slot[]): Markup {
  return html`<tr>${cells.map((cell, index) => {
    const column = columns[index];
    const classes = classesOf(column);
    if (index === 0) return html`<th scope="row"${classes}>${cell}</th>`;
    const label = column?.bare !== true && html` data-label="${column?.header}"`;
    return html`<td${classes}${label}>${cell}</td>`;
  })}</tr>
`;
}

function classesOf(column: Column | undefined): Markup | false {
  const classes = [
    ...(column?.numeric === true ? ['num'] : []),
    ...(column?.numeric === true || column?.short === true ? ['short'] : []),
  ];
  return classes.length > 0 && html` class="${classes.join(' ')}"`;
}
