import { DestinationError } from '../../model/storeferry-error.ts';
import type { Destination } from '../destination/destination.ts';
import { exactJson, exactText, isMembers } from '../exact-json.ts';
import {
  alreadyThere,
  type Items,
  lineKey,
  overVersion,
  readAgain,
  replaceFile,
  type Written,
  withoutId,
} from './replace-file.ts';
import type { RowShape } from './row-shape.ts';
import { textLines } from './text-lines.ts';

export interface AppendLinesOptions {
  readonly items: Items;
  readonly shape: RowShape;
  readonly signal: AbortSignal;
}

/** Adds lines to JSON Lines, completely or not at all. Existing lines are not changed, and none is added twice. */
export async function appendLines(destination: Destination, options: AppendLinesOptions): Promise<Written> {
  const { items, shape, signal } = options;
  const found = await inspect(destination, options);
  if (found === null) {
    return { ...(await replaceFile(destination, { ...options, style: null, ifVersion: null })), begun: true };
  }
  let lines = 0;
  let there = 0;
  const { version, keys } = found;
  const isThere = (line: string): boolean => {
    const key = keyOf(line, shape);
    if (key === undefined || key === '') throw withoutId(destination);
    return keys.has(key);
  };
  const bytes = await destination.write(content(), overVersion(version, signal));
  return { lines, bytes, notes: [...found.notes, ...alreadyThere(there, shape)] };

  async function* content(): AsyncGenerator<string> {
    const content = await readAgain(destination, version, signal);
    for await (const batch of textLines(content, destination.location)) {
      yield `${batch.map(({ text }) => text).join('\n')}\n`;
    }
    for await (const batch of items) {
      const fresh = batch.map((item) => shape.json(item)).filter((line) => !isThere(line));
      lines += fresh.length;
      there += batch.length - fresh.length;
      if (fresh.length > 0) yield `${fresh.join('\n')}\n`;
    }
  }
}

/** Undefined for anything but a JSON object. */
function keyOf(line: string, { keyColumns }: RowShape): string | undefined {
  let value: unknown;
  try {
    value = exactJson(line);
  } catch {
    return undefined;
  }
  return isMembers(value) ? lineKey(keyColumns.map((name) => exactText(value[name]) ?? '')) : undefined;
}

async function inspect(destination: Destination, { shape, signal }: AppendLinesOptions) {
  const before = await destination.read(signal);
  if (before === undefined) return null;
  const file = destination.location;
  const keys = new Set<string>();
  const odd: number[] = [];
  for await (const batch of textLines(before.content, file)) {
    for (const { number, text, ended } of batch) {
      if (text.trim() === '') continue;
      const key = keyOf(text, shape);
      if (key !== undefined) {
        keys.add(key);
        continue;
      }
      if (!ended) {
        throw new DestinationError(
          'The last line is not a complete JSON object and has no line end, so nothing is added.',
          {
            place: { file, line: number },
            hint: 'Correct or remove that line, then run again: no reading is lost.',
          },
        );
      }
      odd.push(number);
    }
  }
  if (keys.size === 0 && odd.length > 0) {
    throw new DestinationError(
      'The file has no JSON objects: this job did not write it, or wrote it in another format.',
      {
        place: { file, line: odd[0] ?? 1 },
        hint: 'Give destination another path, or move the file away to begin a new one.',
      },
    );
  }
  const notes =
    odd.length === 0
      ? []
      : [`These lines of the file are not JSON objects and were not changed: ${odd.slice(0, 5).join(', ')}.`];
  return { version: before.version, keys, notes };
}
