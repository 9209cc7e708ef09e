import { withoutInertMark } from '../model/inert-cell.ts';
import { CsvError, DestinationError } from '../model/storeferry-error.ts';
import type { HistoryPoint, ListHistory } from '../model/subscriber-list.ts';
import type { Destination } from './destination/destination.ts';
import type { OpenTable } from './writing/append-table.ts';
import { textLines, watchBytes } from './writing/text-lines.ts';

/** Reads a history in the format in which it was written; undefined if there is no file. DestinationError. */
export async function readHistory(
  destination: Destination,
  {
    format,
    openTable,
    signal,
  }: {
    readonly format: 'csv' | 'excel-csv' | 'jsonl';
    readonly openTable: OpenTable;
    readonly signal: AbortSignal;
  },
): Promise<ListHistory | undefined> {
  const file = await destination.read(signal);
  if (file === undefined) return undefined;
  const points: HistoryPoint[] = [];
  let unreadable = 0;
  const add = (value: (column: string) => unknown): void => {
    const point = pointOf(value);
    if (point === undefined) unreadable++;
    else points.push(point);
  };
  if (format === 'jsonl') {
    for await (const lines of textLines(file.content, destination.location)) {
      for (const { text } of lines) {
        if (text.trim() === '') continue;
        const fields = parse(text);
        add((column) => fields.get(column));
      }
    }
    return { points, unreadable };
  }
  const bytes = watchBytes(file.content);
  try {
    const { header, batches } = await openTable(bytes.content, { name: destination.location });
    for await (const rows of batches()) {
      for (const { cells } of rows) {
        add((column) => withoutInertMark(cells[header.indexOf(column)] ?? ''));
      }
    }
    return { points, unreadable };
  } catch (error) {
    bytes.content.destroy();
    if (!(error instanceof CsvError)) throw error;
    // `run` treats an empty file as a new one, too.
    if (bytes.isEmpty()) return { points, unreadable };
    throw new DestinationError(`The history cannot be read: ${error.message}`, {
      place: error.place,
      hint: 'Correct or remove that line.',
      cause: error,
    });
  }
}

/** The members of a JSON object; none for other values. */
function parse(text: string): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

function pointOf(value: (column: string) => unknown): HistoryPoint | undefined {
  const id = textOf(value('id'));
  const readAt = Date.parse(textOf(value('read_at')));
  if (id === '' || Number.isNaN(readAt)) return undefined;
  return {
    id,
    name: textOf(value('name')),
    readAt,
    subscribers: figure(value('subscribers')),
    opens: figure(value('opens')),
    clicks: figure(value('clicks')),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function figure(value: unknown): number | null {
  const text = textOf(value).trim();
  const number = Number(text);
  return text === '' || !Number.isFinite(number) ? null : number;
}
