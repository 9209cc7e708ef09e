import type { Destination } from '../destination/destination.ts';
import { csvLine, markOf, type TableStyle } from './csv-line.ts';
import type { RowShape } from './row-shape.ts';
import type { Written } from './written.ts';

/** Items as JSON, in batches. */
export type Items = AsyncIterable<readonly string[]>;

/** Replaces the destination. With a style it is a table, without one it is JSON Lines. */
export async function replaceFile(
  destination: Destination,
  {
    items,
    shape,
    style,
    signal,
    ifVersion,
  }: {
    readonly items: Items;
    readonly shape: RowShape;
    readonly style: TableStyle | null;
    readonly signal: AbortSignal;
    /** As for `Destination.write`: null where nothing may be there yet. */
    readonly ifVersion?: string | null | undefined;
  },
): Promise<Written> {
  let lines = 0;
  const bytes = await destination.write(
    content(),
    ifVersion === undefined ? { signal } : { signal, ifVersion },
  );
  return { lines, bytes, notes: [] };

  async function* content(): AsyncGenerator<string> {
    if (style !== null) yield markOf(style) + csvLine(shape.columns, style);
    for await (const batch of items) {
      lines += batch.length;
      yield batch
        .map((item) => (style === null ? `${shape.json(item)}\n` : csvLine(shape.cells(item), style)))
        .join('');
    }
  }
}
