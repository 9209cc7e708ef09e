import { inertCell } from '../model/inert-cell.ts';

/** How the lines of a table are written; `formatRow` is that of csv/. */
export interface TableStyle {
  readonly delimiter: string;
  readonly newline: '\n' | '\r\n';
  /** For spreadsheets: a byte order mark, and no cell that starts a formula. */
  readonly forSpreadsheets: boolean;
  readonly formatRow: (cells: readonly string[], delimiter: string) => string;
}

/** The style of a new file: `excel-csv` is for spreadsheets, `csv` for everything else. */
export function newStyle(format: 'csv' | 'excel-csv', formatRow: TableStyle['formatRow']): TableStyle {
  const forSpreadsheets = format === 'excel-csv';
  return { delimiter: ',', newline: forSpreadsheets ? '\r\n' : '\n', forSpreadsheets, formatRow };
}

/** What stands before the header. */
export function markOf({ forSpreadsheets }: TableStyle): string {
  return forSpreadsheets ? '\ufeff' : '';
}

/** One row with its line end. A lone empty cell is quoted, since an empty line is no row. */
export function csvLine(cells: readonly string[], style: TableStyle): string {
  const line = style.formatRow(style.forSpreadsheets ? cells.map(inertCell) : cells, style.delimiter);
  return `${line === '' ? '""' : line}${style.newline}`;
}
