import { formatRow } from '../csv/format-row.ts';
import type { Run } from '../model/run.ts';
import { readRejections } from '../plan/read-rejections.ts';
import { writeRejects } from '../report/rejects-file.ts';
import { loadSnapshot } from '../source/snapshot.ts';
import type { RunContext } from './context.ts';
import type { ImportRequest } from './import-request.ts';
import { openSnapshotFile } from './read-snapshot.ts';

/** Writes the rows that the mapping or the store refused into the run's rejects file, by reading the snapshot again. */
export async function writeRunRejects(context: RunContext, request: ImportRequest, run: Run): Promise<void> {
  const folder = context.artifacts.run(run.id);
  const snapshot = await loadSnapshot(folder);
  if (snapshot === undefined) return;
  await writeRejects({
    folder,
    sources: snapshot.files.map((file, index) => ({
      name: file.name,
      open: () => openSnapshotFile({ snapshot, folder, request }, file, index),
    })),
    rejections: refused(context, run),
    formatRow,
  });
}

async function* refused(context: RunContext, run: Run) {
  yield* readRejections(context.artifacts.run(run.id));
  yield* context.state.runs.refusals(run.id);
}
