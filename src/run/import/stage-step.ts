import type { Run } from '../../model/run.ts';
import { type Snapshot, saveSnapshot } from '../../source/snapshot.ts';
import { stageSourceUnless } from '../../source/stage-source.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { RunContext } from '../context.ts';
import type { ImportRequest } from './import-request.ts';
import { runDigest } from './run-digest.ts';
import { stageStoreLists } from './store-lists.ts';
import { settledRun, unchangedTotals } from './unchanged-source.ts';

/** Copies the source into the run's folder and gives the snapshot; undefined when it is still of the known version. */
export type Stage = (
  context: RunContext,
  request: ImportRequest,
  folder: RunFolder,
  knownVersion: string | null,
) => Promise<Snapshot | undefined>;

/** Stages the job's own source. */
export const stageJobSource: Stage = (context, { job }, folder, knownVersion) =>
  stageSourceUnless(knownVersion, job.source, {
    workspaceDir: context.workspaceDir,
    allowedFolders: context.allowedFolders,
    folder,
    limits: job.limits,
    signal: context.signal,
    onProgress: ({ bytes }) =>
      context.onEvent({ type: 'progress', step: 'stage', done: bytes, total: null, unit: 'bytes' }),
  });

/**
 * Takes the snapshot, and with it the digest that decides whether an unfinished run may be continued. Where the source
 * is what the last run has already carried over, the run is given `unchangedSince` and its totals instead.
 */
export async function stageStep(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  stage: Stage = stageJobSource,
): Promise<Run> {
  const folder = context.artifacts.run(run.id);
  const settled = await settledRun(context, request, run);
  const snapshot = await stage(context, request, folder, settled?.source.version ?? null);
  const { keyDigest } = request.mapping;
  const stagedAt = context.clock();
  if (snapshot === undefined) {
    if (settled === undefined) throw new TypeError('a source was called unchanged that nothing is known of');
    const { digest, source } = settled;
    const totals = unchangedTotals(settled);
    const unchangedSince = settled.unchangedSince ?? settled.id;
    return await context.state.runs.update(run.id, {
      ...{ digest, keyDigest, stagedAt, source, totals, unchangedSince },
    });
  }
  await saveSnapshot(folder, snapshot);
  const lists = await stageStoreLists(context, request, folder);
  const { version, sha256 } = snapshot;
  return await context.state.runs.update(run.id, {
    digest: runDigest(context.version, request, run, sha256, lists),
    keyDigest,
    stagedAt,
    ...(version === undefined ? {} : { source: { version, sha256 } }),
  });
}
