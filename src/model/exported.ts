/** What an export run did, beyond the totals. */
export interface Exported {
  /** Where the file is: relative to the workspace if it is inside, else as an address or an absolute path. */
  readonly location: string;
  readonly mode: 'replace' | 'append';
  /** There was nothing to add to: the file is a new one. */
  readonly begun?: true;
  readonly format: 'csv' | 'excel-csv' | 'jsonl';
  /** When the store was read, ISO 8601 in UTC. */
  readonly readAt: string;
  /** Lists or orders that were read, each once. */
  readonly items: number;
  /** Lines that this run added, header not counted. */
  readonly lines: number;
  /** Size of the whole file. */
  readonly bytes: number;
  /** What a person should know, in sentences. */
  readonly notes: readonly string[];
}
