import { inertCell } from '../../model/inert-cell.ts';

/** How the lines of a table are written; `formatRow` is that of csv/. */
export interface TableStyle {
  readonly delimiter: string;
  readonly newline: '\n' | '\r\n';
  /** Whether the file begins with a byte order mark. */
  readonly bom: boolean;
  /** For spreadsheets: no cell starts a formula. */
  readonly forSpreadsheets: boolean;
  readonly formatRow: (cells: readonly string[], delimiter: string) => string;
}

/** The style of a new file: `excel-csv` is for spreadsheets, `csv` for everything else. */
export function newStyle(format: 'csv' | 'excel-csv', formatRow: TableStyle['formatRow']): TableStyle {
  const forSpreadsheets = format === 'excel-csv';
  const newline = forSpreadsheets ? '\r\n' : '\n';
  return { delimiter: ',', newline, bom: forSpreadsheets, forSpreadsheets, formatRow };
}

/** What stands before the header. */
export function markOf({ bom }: TableStyle): string {
  return bom ? '\ufeff' : '';
}

/** One row with its line end. A lone empty cell is quoted, since an empty line is no row. */
export function csvLine(cells: readonly string[], style: TableStyle): string {
  const line = style.formatRow(style.forSpreadsheets ? cells.map(inertCell) : cells, style.delimiter);
  return `${line === '' ? '""' : line}${style.newline}`;
}
