/** Ids that stand in documents for those of runs, which are random. */
const SAMPLE_IDS = [
  ...['k3v9x2ab', 'm7q4w8tz', 'p5r2n6yc', 'w9d3h7fe', 't4j8s2gk', 'b6x5m9vh'],
  ...['c8n3r7qd', 'z2w6k4pj', 'h9t5f3xm', 'd4y7v8sb', 'g3p9c5wn', 'q6m2z8kr'],
];
const RUN_ID =
  /\((?:run )(\w{8})\)|\bRun (\w{8}) of|\bsince run (\w{8})\b|\b(?:retry|approve|runs) (\w{8})\b|artifacts\/(\w{8})\//g;

/** Gives each run of a document the same sample id wherever it is printed. */
export interface SampleIds {
  readonly known: Map<string, string>;
}

/** Output as a document shows it: what differs from run to run is replaced by what always stands there. */
export function asSample(output: string, { known }: SampleIds): string {
  for (const found of output.matchAll(RUN_ID)) {
    const id = found.slice(1).find((part) => part !== undefined) ?? '';
    if (!known.has(id)) known.set(id, SAMPLE_IDS[known.size] ?? `run${known.size}`);
  }
  const named = [...known].reduce((text, [id, sample]) => text.replaceAll(id, sample), output);
  return named
    .replaceAll(
      /\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?/g,
      (_, seconds) => `2030-01-02 02:15${seconds ? ':07' : ''}`,
    )
    .replaceAll(/\b(after|about) \d+(\.\d+)? (ms|s|min)\b( \d+ s\b)?/g, '$1 2 s')
    .trimEnd();
}

/** Whether a document shows what was printed; a line of `…` stands for any lines, and columns may be wider or narrower. */
export function shows(sample: string, printed: string): boolean {
  const pattern = lines(sample)
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${lines(printed).join('\n')}\n`);
}

function lines(text: string): string[] {
  return text.split('\n').map((line) => line.trimEnd().replaceAll(/(?<=\S) {2,}/g, '  '));
}
