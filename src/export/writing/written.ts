/** What was written to the destination. */
export interface Written {
  /** Lines that were added, header not counted. */
  readonly lines: number;
  /** Nothing was there to add to. */
  readonly begun?: true;
  /** Size of the whole file. */
  readonly bytes: number;
  /** What a person should know, in sentences. */
  readonly notes: readonly string[];
}
