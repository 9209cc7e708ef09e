/** A row as the reference reads it. */
export interface ReferenceRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * An independent reading of CSV text, one character at a time and in no hurry, to hold `readCsv` against: the rows that
 * have content, header included, or undefined where the text is to be refused.
 */
export function readReference(source: string, delimiter: string): readonly ReferenceRow[] | undefined {
  const text = source.replace(/^\ufeff/, '');
  if (text.includes('\0')) return undefined;
  const rows: ReferenceRow[] = [];
  let at = 0;
  let line = 1;
  const newlineLength = (index: number) =>
    text.startsWith('\r\n', index) ? 2 : /[\r\n]/.test(text[index] ?? '') ? 1 : 0;

  while (at < text.length) {
    const rowLine = line;
    const cells: string[] = [];
    for (;;) {
      let cell = '';
      if (text[at] === '"') {
        at += 1;
        for (;;) {
          if (at >= text.length) return undefined;
          if (text.startsWith('""', at)) {
            cell += '"';
            at += 2;
          } else if (text[at] === '"') {
            break;
          } else {
            const length = Math.max(newlineLength(at), 1);
            if (newlineLength(at) > 0) line += 1;
            cell += text.slice(at, at + length);
            at += length;
          }
        }
        at += 1;
        while (text[at] === ' ' || (text[at] === '\t' && delimiter !== '\t')) at += 1;
        if (at < text.length && text[at] !== delimiter && newlineLength(at) === 0) return undefined;
      } else {
        while (at < text.length && text[at] !== delimiter && newlineLength(at) === 0) {
          cell += text[at];
          at += 1;
        }
        const quotes = cell.split('"').length - 1;
        if (quotes % 2 === 1 || cell.includes('\\"') || /^[ \t]+"/.test(cell)) return undefined;
      }
      cells.push(cell);
      if (text[at] !== delimiter) break;
      at += 1;
    }
    at += newlineLength(at);
    line += 1;
    if (cells.some((cell) => cell.trim() !== '')) rows.push({ line: rowLine, cells });
  }
  return rows;
}
