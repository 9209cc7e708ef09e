import { createHash } from 'node:crypto';
import { REJECTS_FILE, UNTOUCHED_FILE } from '../../report/rejects/rejects-index.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Upload } from './uploads.ts';

type Folder = ReturnType<RunContext['artifacts']['run']>;

/**
 * Puts an uploaded file where `retry` reads the rejects of a run. What lay there and was edited is kept beside it as
 * `rejects-before-N.csv`; what was not is there anyway, as the untouched copy.
 */
export async function replaceRejects(
  { artifacts }: Pick<RunContext, 'artifacts'>,
  upload: Upload,
): Promise<void> {
  const folder = artifacts.run(upload.run);
  const [before, untouched, uploaded] = await Promise.all([
    folder.read(REJECTS_FILE).then(digest),
    folder.read(UNTOUCHED_FILE).then(digest),
    upload.read().then(digest),
  ]);
  if (before === uploaded) return;
  if (before !== untouched) {
    await folder.write(await freeName(folder), await folder.read(REJECTS_FILE));
  }
  await folder.write(REJECTS_FILE, await upload.read());
}

async function freeName(folder: Folder): Promise<string> {
  const names = new Set(await folder.list());
  let number = 1;
  while (names.has(`rejects-before-${number}.csv`)) number += 1;
  return `rejects-before-${number}.csv`;
}

async function digest(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk);
  return hash.digest('hex');
}
