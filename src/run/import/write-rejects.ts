import { buffer } from 'node:stream/consumers';
import { formatRow } from '../../csv/format-row.ts';
import { isUnmatched } from '../../model/reason.ts';
import type { Run } from '../../model/run.ts';
import { readRejections } from '../../plan/files/read-rejections.ts';
import { writeRejects, writeUnmatched } from '../../report/rejects/rejects-file.ts';
import { REJECTS_FILE, type RejectedKey, UNTOUCHED_FILE } from '../../report/rejects/rejects-index.ts';
import type { Rejection } from '../../report/rejects/rejects-spans.ts';
import { KEY_NOT_REJECTED } from '../../report/warning-lines.ts';
import { loadSnapshot } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { RunContext } from '../context.ts';
import { loadRetryGuard } from '../retry-guard.ts';
import { targetOf } from '../run-locks.ts';
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
  await writeRejects({
    folder,
    sources,
    rejections: refused(context, run),
    formatRow,
    describeKeys: (keys) => acknowledgedBefore(context, request, run, keys),
  });
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

async function* refused(context: RunContext, run: Run): AsyncGenerator<readonly Rejection[]> {
  for await (const batch of readRejections(context.artifacts.run(run.id))) {
    yield batch.map(({ key, spans, reason }) =>
      reason.code === KEY_NOT_REJECTED && key !== null ? { spans, reason } : { key, spans, reason },
    );
  }
  yield* context.state.runs.refusals(run.id);
}

const KEYS_A_QUESTION = 500;

/** Each key with what the store had acknowledged for it; of a retry also those of the run that it retries, from then. */
async function acknowledgedBefore(
  { state, artifacts }: RunContext,
  { job }: ImportRequest,
  run: Run,
  keys: Iterable<string>,
): Promise<RejectedKey[]> {
  const known = new Map(run.kind === 'retry' ? (await loadRetryGuard(artifacts.run(run.id))).keys : []);
  const ledger = state.ledger(targetOf(run, job.import));
  const asked = [...keys].filter((key) => !known.has(key));
  for (let from = 0; from < asked.length; from += KEYS_A_QUESTION) {
    const some = asked.slice(from, from + KEYS_A_QUESTION);
    const marks = await ledger.marks(some);
    for (const [index, key] of some.entries()) known.set(key, marks[index]?.fingerprint ?? null);
  }
  return [...known];
}
