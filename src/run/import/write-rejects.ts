import { buffer } from 'node:stream/consumers';
import { formatRow } from '../../csv/format-row.ts';
import type { Run } from '../../model/run.ts';
import { isUnmatched } from '../../model/unmatched-codes.ts';
import { readRejections } from '../../plan/files/read-rejections.ts';
import { writeRejects, writeUnmatched } from '../../report/rejects/rejects-file.ts';
import { REJECTS_FILE, UNTOUCHED_FILE } from '../../report/rejects/rejects-index.ts';
import { loadSnapshot } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { RunContext } from '../context.ts';
import type { ImportRequest } from './import-request.ts';
import { openSnapshotFile } from './read-snapshot.ts';

/** Writes the rows that the mapping or the store refused into the run's rejects file, by reading the snapshot again. */
export async function writeRunRejects(context: RunContext, request: ImportRequest, run: Run): Promise<void> {
  const folder = context.artifacts.run(run.id);
  const snapshot = await loadSnapshot(folder);
  if (snapshot === undefined) return;
  await keepCorrections(folder);
  const sources = snapshot.files.map((file, index) => ({
    name: file.name,
    open: () => openSnapshotFile({ snapshot, folder, request }, file, index),
  }));
  await writeRejects({ folder, sources, rejections: refused(context, run), formatRow });
  if (request.mapping.crosswalk === undefined) return;
  await writeUnmatched({ folder, sources, rejections: unmatched(folder), formatRow });
}

const CORRECTED_FILE = 'rejects-corrected.csv';

/** A run that is continued writes its rejects anew: what somebody has corrected in the meantime is kept beside them. */
async function keepCorrections(folder: RunFolder): Promise<void> {
  if (!(await folder.exists(REJECTS_FILE)) || !(await folder.exists(UNTOUCHED_FILE))) return;
  const corrected = await buffer(await folder.read(REJECTS_FILE));
  if (corrected.equals(await buffer(await folder.read(UNTOUCHED_FILE)))) return;
  await folder.write(CORRECTED_FILE, [corrected]);
}

/** The planned rejections of contacts that the crosswalk does not know. */
async function* unmatched(folder: RunFolder) {
  for await (const batch of readRejections(folder)) {
    yield batch.filter(({ reason }) => isUnmatched(reason.code));
  }
}

async function* refused(context: RunContext, run: Run) {
  yield* readRejections(context.artifacts.run(run.id));
  yield* context.state.runs.refusals(run.id);
}
