import type { Run } from '../model/run.ts';
import { type Snapshot, saveSnapshot } from '../source/snapshot.ts';
import type { SourceLimits } from '../source/source-limits.ts';
import { stageSource } from '../source/stage-source.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { RunContext } from './context.ts';
import { definedOnly } from './defined-only.ts';
import { digestOf } from './digest.ts';
import type { ImportRequest } from './import-request.ts';
import { stageStoreLists } from './store-lists.ts';

/** Copies the source into the run's folder and gives the snapshot. */
export type Stage = (context: RunContext, request: ImportRequest, folder: RunFolder) => Promise<Snapshot>;

function sourceLimits({ source }: ImportRequest['job']): Partial<SourceLimits> {
  const { bytes, ratio, fileCount } = source.limits ?? {};
  return definedOnly({ bytes, ratio, fileCount });
}

/** Stages the job's own source. */
export const stageJobSource: Stage = (context, { job }, folder) =>
  stageSource(job.source, {
    workspaceDir: context.workspaceDir,
    folder,
    limits: sourceLimits(job),
    signal: context.signal,
    onProgress: ({ bytes }) =>
      context.onEvent({ type: 'progress', step: 'stage', done: bytes, total: null, unit: 'bytes' }),
  });

/** Takes the snapshot, and with it the digest that decides whether an unfinished run may be continued. */
export async function stageStep(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  stage: Stage = stageJobSource,
): Promise<Run> {
  const folder = context.artifacts.run(run.id);
  const snapshot = await stage(context, request, folder);
  await saveSnapshot(folder, snapshot);
  const lists = await stageStoreLists(context, request, folder);
  const { schedule: _when, notify: _whom, ...job } = request.job;
  const digest = digestOf({
    source: snapshot.sha256,
    mapping: request.mapping.digest,
    lists,
    job,
    store: [request.store.baseUrl, request.store.weightUnit],
    version: context.version,
    kind: run.kind === 'retry' ? run.retryOf : null,
    resend: run.resend,
  });
  return await context.state.runs.update(run.id, {
    digest,
    keyDigest: request.mapping.keyDigest,
    stagedAt: context.clock(),
  });
}
