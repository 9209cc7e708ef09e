/** The most that one CSV file may hold: what protects memory from a damaged or hostile file. */
export interface CsvLimits {
  /** Bytes of one row in UTF-8, quoted line breaks included. */
  readonly rowBytes: number;
  /** Bytes of one cell in UTF-8. */
  readonly cellBytes: number;
  /** Rows of one file, the header not counted. */
  readonly rows: number;
  /** Cells of one row. */
  readonly columns: number;
}

const MIB = 1024 * 1024;

/** The limits where the job sets none. */
export const DEFAULT_CSV_LIMITS: CsvLimits = {
  rowBytes: 32 * MIB,
  cellBytes: 16 * MIB,
  rows: 50_000_000,
  columns: 16_384,
};
