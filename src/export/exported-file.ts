import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { Exported } from '../model/run.ts';
import type { RunFolder } from '../state/artifacts.ts';

/** The facts about an export that are kept after its run. */
export const EXPORTED_FILE = 'exported.json';

const exportedSchema: z.ZodType<Exported> = z.object({
  location: z.string(),
  mode: z.enum(['replace', 'append']),
  begun: z.literal(true).exactOptional(),
  format: z.enum(['csv', 'excel-csv', 'jsonl']),
  readAt: z.string(),
  items: z.number(),
  lines: z.number(),
  bytes: z.number(),
  notes: z.array(z.string()),
});

/** Keeps what an export did, for `storeferry runs`. */
export async function saveExported(folder: RunFolder, exported: Exported): Promise<void> {
  await folder.write(EXPORTED_FILE, [JSON.stringify(exported)]);
}

/** What an export did; null before it has written anything, and of other runs. */
export async function readExported(folder: RunFolder): Promise<Exported | null> {
  if (!(await folder.exists(EXPORTED_FILE))) return null;
  return exportedSchema.parse(await json(await folder.read(EXPORTED_FILE)));
}
