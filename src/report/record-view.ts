import { createColors } from 'picocolors';
import { withoutAbsent } from '../model/json-object.ts';
import type { TracedCell, TracedField, TracedRow } from '../model/mapped-record.ts';
import type { PlanSource } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import { rowPlace } from '../model/row.ts';
import { counted, printable, truncate } from '../text/printable.ts';
import type { PageOptions } from './document-text.ts';

/** A value of a record's body, its cells, and the acknowledged value. */
export interface ViewedField extends TracedField {
  /** The acknowledged value where it is another one; null where the acknowledged body lacks it. */
  readonly old?: TracedField['value'];
}

/** What a plan does with one record, and the cells of the record. */
export interface RecordView {
  readonly key: string | null;
  readonly standing: keyof typeof STANDINGS;
  /** How many records of the source have the key. */
  readonly copies: number;
  readonly rows: readonly TracedRow[];
  /** The values of the request body in its order; none where no body could be made. */
  readonly fields: readonly ViewedField[];
  /** Values that only the acknowledged body has. */
  readonly removed: readonly { readonly path: string; readonly old: TracedField['value'] }[];
  /** Why the record is rejected or skipped. */
  readonly reason: Reason | null;
  /** A later request may have arrived: the store's version is unknown. */
  readonly inDoubt: boolean;
  readonly source: Pick<PlanSource, 'files'>;
}

/** The nearest matches for a key that no record has. */
export interface RecordSuggestions {
  readonly nearest: readonly string[];
  /** Records with the text in a cell. */
  readonly containing: readonly { readonly key: string | null; readonly cell: TracedCell }[];
}

/** Where a cell is: `line 4`, `Prices!C4`, with the file where there are several. */
export function cellPlace(
  { file, line, column }: Pick<TracedCell, 'file' | 'line' | 'column'>,
  { files }: RecordView['source'],
): string {
  const place = rowPlace(line, column, files[file]?.places);
  return printable(files.length > 1 ? `${files[file]?.name ?? ''} ${place}` : place);
}

/** What the plan does with the record, in a sentence. */
export function standingWords({ standing, copies, inDoubt }: RecordView): string {
  const words = STANDINGS[standing];
  const repeated = copies > 1 ? ` ${counted(copies, 'record')} of the source have this key.` : '';
  const doubt = inDoubt ? ' A request for it may have arrived at the store without an answer.' : '';
  return `${words}${repeated}${doubt}`;
}

const STANDINGS = {
  new: 'New: the store has not acknowledged it before. The plan sends it.',
  changed: 'Changed since the store acknowledged it. The plan sends it.',
  resent: 'Equal to what the store acknowledged, and sent again.',
  unchanged: 'Unchanged: the store has acknowledged this body. Nothing is sent.',
  rejected: 'Rejected. Nothing is sent.',
  skipped: 'Left out on purpose. Nothing is sent.',
  held: 'Held by a guard of the job. Nothing is sent until somebody releases it.',
  'not-in-sample': 'Not in the sample: this plan leaves the record out. Nothing is sent.',
} as const;

/** Whether this is the cell that a reason names. */
export function isNamed(cell: Pick<TracedCell, 'line' | 'column'>, reason: Reason | null): boolean {
  return reason?.line === cell.line && reason.column !== undefined && reason.column === cell.column;
}

/** The rows of a record; the one with the cause comes first. */
export function rowsByCause({ rows, reason }: Pick<RecordView, 'rows' | 'reason'>): readonly TracedRow[] {
  return rows.toSorted((a, b) => Number(b.line === reason?.line) - Number(a.line === reason?.line));
}

/** A value as JSON, at most so many characters. An empty list or object is a leaf with its JSON text (leavesOf). */
export function valueText(value: TracedField['value'], length: number): string {
  const isText = typeof value === 'string' && value !== '[]' && value !== '{}';
  return truncate(printable(isText ? JSON.stringify(value) : String(value)), length);
}

/** The maximum width of the column with the paths of fields. */
const MAX_PATH_DEPTH = 32;
/** How many cells of a field are shown. */
const CELLS_SHOWN = 4;
/** How many rows of a rejected record are shown. */
const ROWS_SHOWN = 2;

/** The record as a text for a terminal: its fields, each with the cells and transforms that it was made of. */
export function recordText(view: RecordView, { colors, width }: PageOptions): string {
  const pen = createColors(colors);
  const { fields, reason, rows, removed } = view;
  const first = rows[0];
  const place =
    first === undefined
      ? ''
      : ` (${counted(rows.length, 'row')} from ${cellPlace({ ...first, column: null }, view.source)})`;
  const lines = [`${pen.bold(printable(view.key ?? 'The key cannot be read'))}${place}`, standingWords(view)];
  if (reason !== null) {
    const at =
      reason.line === undefined
        ? ''
        : ` (${cellPlace({ file: first?.file ?? 0, line: reason.line, column: reason.column ?? null }, view.source)})`;
    const field = reason.field === undefined ? '' : `${reason.field}: `;
    lines.push(pen.red(`${field}${printable(reason.message)}${at}`));
  }
  const longest = Math.min(MAX_PATH_DEPTH, Math.max(0, ...fields.map(({ path }) => path.length)));
  const room = Math.max(20, width - longest - 4);
  if (fields.length > 0) lines.push('', pen.bold('Request body'));
  for (const field of fields) {
    const value = valueText(field.value, room);
    const left = `  ${printable(field.path).padEnd(longest)}  ${value}`;
    const old =
      field.old === undefined ? [] : [`was ${field.old === null ? 'absent' : valueText(field.old, room)}`];
    const from = sourceWords(field, view, Math.max(20, Math.min(60, width - 40)));
    const plain = [...old, ...from].join('  ');
    const aligned = left.padEnd(longest + 4 + Math.min(20, room));
    const parts = [...old.map(pen.yellow), ...from.map(pen.dim)];
    if (plain === '') lines.push(left);
    else if (aligned.length + 2 + plain.length <= width) lines.push(`${aligned}  ${parts.join('  ')}`);
    else lines.push(left, ...parts.map((part) => `      ${part}`));
  }
  for (const { path, old } of removed)
    lines.push(
      `  ${printable(path).padEnd(longest)}  ${pen.yellow(`no longer sent, was ${valueText(old, room)}`)}`,
    );
  if (fields.length === 0) lines.push(...sourceLines(view, pen, width));
  return `${lines.join('\n')}\n`;
}

/** `← Preis "12,90" (line 4)  number (decimal comma)`, and further cells. */
function sourceWords({ cells, steps }: ViewedField, view: RecordView, room: number): readonly string[] {
  const words = cells.slice(0, CELLS_SHOWN).map((cell) => {
    const text = `${printable(cell.column ?? 'header')} ${valueText(cell.text, room)} (${cellPlace(cell, view.source)})`;
    return cell.condition === true ? `if ${text}` : `← ${text}`;
  });
  const more =
    cells.length > CELLS_SHOWN ? [`← and ${counted(cells.length - CELLS_SHOWN, 'more cell')}`] : [];
  const [first, ...others] = words;
  return first === undefined ? [] : [[first, ...steps.map(printable)].join('  '), ...others, ...more];
}

/** The cells of a record without a body. */
function sourceLines(
  { rows, reason, source }: RecordView,
  pen: ReturnType<typeof createColors>,
  width: number,
) {
  const shown = rowsByCause({ rows, reason }).slice(0, ROWS_SHOWN);
  const more = rows.length - shown.length;
  const lines = shown.flatMap((row) => [
    '',
    pen.bold(`Cells of ${cellPlace({ ...row, column: null }, source)}`),
    ...row.cells.map((cell) => {
      const named = isNamed(cell, reason);
      const text = `${named ? '> ' : '  '}${printable(cell.column ?? '')}: ${valueText(cell.text, Math.max(20, width - 40))}`;
      return named ? pen.red(text) : text;
    }),
  ]);
  return more > 0 ? [...lines, '', `And ${counted(more, 'more row')}.`] : lines;
}

/** Suggestions for a key that no record has. */
export function suggestionsText(
  key: string,
  { nearest, containing }: RecordSuggestions,
  source: RecordView['source'],
): string {
  const named = containing.map(
    ({ key: own, cell }) =>
      `  ${printable(own ?? 'key cannot be read')}  (${printable(cell.column ?? '')} ${valueText(cell.text, 60)}, ${cellPlace(cell, source)})`,
  );
  return withoutAbsent([
    `No record of this plan has the key '${printable(key)}'.`,
    nearest.length !== 0 && `Nearest: ${nearest.map(printable).join(', ')}`,
    ...(named.length === 0 ? [] : [`Records with this text in a cell:`, ...named]),
    nearest.length + named.length === 0 && 'No cell of the source contains this text.',
  ]).join('\n');
}
