import { mkdirSync, rmSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { changedSincePlan } from '../../src/run/execute-run.ts';
import { jobDigest, stageJobSource, stageStep } from '../../src/run/import/stage-step.ts';
import { openImport } from '../../src/run/inputs/open-mapping.ts';
import type { RunContext } from '../../src/run/run-context.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { folder, JOB, workspace } from '../config/support.ts';
import { sampleRun } from '../state/samples.ts';

const HEADER = 'Id,Name,Price\n';

/** Stages the source of a run; `meanwhile` happens after it was copied, while the rest still is. */
async function staged(
  files: Readonly<Record<string, string>>,
  source: string,
  meanwhile: (dir: string) => Promise<void> = async () => {},
) {
  const opened = workspace({ ...files, 'jobs/nightly.yaml': JOB.replace('path: in.csv', source) });
  const job = opened.job('nightly');
  if (job.kind !== 'import') throw new Error('no import');
  const request = { ...(await openImport(opened, job)), resend: false };
  const { workspaceDir: dir } = opened.fileAccess();
  await using state = await openSqliteState(folder({}));
  const context: RunContext = {
    workspaceDir: dir,
    state,
    artifacts: folderArtifacts(folder({})),
    version: '1.0.0',
    clock: Date.now,
    redact: (text) => text,
    newRunId: () => 'run-2',
    openStorefront: () => {
      throw new Error('no store is asked');
    },
    onEvent: () => {},
    signal: new AbortController().signal,
  };
  const begun = sampleRun({ startedAt: Date.now(), digest: null });
  await state.runs.create(begun);
  await sleep(20);
  const run = await stageStep(context, request, begun, async (...stage) => {
    const snapshot = await stageJobSource(...stage);
    await meanwhile(dir);
    return snapshot;
  });
  const changed = (at: Pick<RunContext, 'artifacts' | 'workspaceDir' | 'allowedFolders'> = context) =>
    changedSincePlan(at, request, run);
  return { dir, artifacts: context.artifacts, changed };
}

it('has a source that was replaced after it was copied, while a table beside it was', async () => {
  const { changed } = await staged({ 'in.csv': `${HEADER}1,a,1\n` }, 'path: in.csv', async (dir) => {
    await writeFile(join(dir, 'in.csv'), `${HEADER}1,a,2\n`);
    await sleep(20);
  });
  expect(await changed()).toEqual(['the source']);
});

it('compares files that were written again with the same content, up to a limit for all of them', async () => {
  const rows = HEADER + '1,a,1\n'.repeat(5_700_000);
  const { dir, changed } = await staged({ 'part-1.csv': rows, 'part-2.csv': rows }, 'path: part-*.csv');
  expect(await changed()).toEqual([]);
  await writeFile(join(dir, 'part-1.csv'), rows);
  expect(await changed()).toEqual([]);
  await writeFile(join(dir, 'part-2.csv'), rows);
  expect(await changed()).toEqual(['the source']);
});

it('leaves out a file that arrived, which the worker has moved', async () => {
  const name = 'inbox/processing/claimed1-a.csv';
  const { dir, changed } = await staged({ [name]: `${HEADER}1,a,1\n` }, 'watch: inbox/*.csv');
  rmSync(join(dir, name));
  expect(await changed()).toEqual([]);
});

it.each([
  ['is gone', (path: string) => rmSync(path, { force: true })],
  [
    'cannot be read',
    (path: string) => {
      rmSync(path, { force: true, recursive: true });
      mkdirSync(path);
    },
  ],
])('counts a file as changed that %s once it was found', async (_, replace) => {
  // As large as a folder, so that only reading fails.
  const { size } = await stat(folder({}));
  const { dir, artifacts, changed } = await staged({ 'in.csv': HEADER.padEnd(size, '\n') }, 'path: in.csv');
  expect(await changed()).toEqual([]);
  const found = await changed({
    artifacts,
    workspaceDir: dir,
    // Asked for between finding and reading.
    get allowedFolders() {
      replace(join(dir, 'in.csv'));
      return [];
    },
  });
  expect(found).toEqual(['the source']);
});

it('is not said of plans of earlier versions: the digest of the settings stays, also where others change', () => {
  const other = 'schedule: { cron: "1 2 * * *" }\nnotify: { url: "https://hooks.example" }\ndrift: 1%\n';
  const digests = [JOB, `${JOB}${other}`, `${JOB}mode: mirror\n`].map((text) => {
    const job = workspace({ 'jobs/nightly.yaml': text }).job('nightly');
    if (job.kind !== 'import') throw new Error('no import');
    return jobDigest({ job });
  });
  const known = '8fd0e0ce183c1ff79f4222f5b4a7ca7c4cadccfebefaad9eb68228d60920113f';
  expect(digests).toEqual([known, known, expect.not.stringContaining(known)]);
});
