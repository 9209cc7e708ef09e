import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readStoredReport } from '../../src/run/report/read-stored-report.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { setupNightly } from '../support/nightly.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import type { Workspace } from '../support/workspace.ts';

const reportOf = (run: unknown) => `.storeferry/artifacts/${run}/report.html`;

async function pageOf({ dir }: Workspace, run: unknown): Promise<string> {
  return await readFile(join(dir, reportOf(run)), 'utf8');
}

/** What is left of a run, without what it wrote under names of its own. */
async function filesOf({ dir }: Workspace, run: unknown): Promise<string[]> {
  return await readdir(join(dir, '.storeferry', 'artifacts', String(run)));
}

describe('the report page of a run', () => {
  it('is written by a plan and by its approval, and named where people read of them', async () => {
    await using setup = await setupNightly(30);
    const { workspace } = setup;
    const planned = await workspace.storeferry('plan', 'nightly');
    const run = /run ([a-z0-9]{8})/.exec(planned.stdout)?.[1];
    expect(planned.stdout).toMatch(new RegExp(`Report:\\s+\\S*${reportOf(run)}`));
    expect(await pageOf(workspace, run)).toContain('<!doctype html>');
    expect(await pageOf(workspace, run)).toContain('approve');

    const approved = await workspace.storeferry('approve', String(run));
    expect(approved.stdout).toMatch(new RegExp(`Report:\\s+\\S*${reportOf(run)}`));
    expect(await pageOf(workspace, run)).not.toContain('approve');
    expect((await workspace.storeferry('runs', String(run))).stdout).toContain(reportOf(run));
    const left = await filesOf(workspace, run);
    expect(left.filter((name) => !['plan.json', 'rejections.jsonl'].includes(name))).toEqual([
      'report.html',
      'report.json',
    ]);
  });

  it('is written when a run stops, is interrupted, fails, and over that when it is continued', async () => {
    await using setup = await setupNightly(300, {}, { latencyMs: { min: 10, max: 20 } });
    const { workspace, store } = setup;
    const running = workspace.start('run', 'nightly', '--json');
    await until(() => store.requests.length > 50);
    running.process.kill('SIGINT');
    const { run } = (await running.ended).json();
    expect(await pageOf(workspace, run)).toContain('nterrupted');
    expect((await filesOf(workspace, run)).filter((name) => name.startsWith('traffic-'))).toHaveLength(1);

    store.misbehave({ does: errorAnswer(422, 'Not today') });
    const stopped = (await workspace.storeferry('run', 'nightly', '--json')).json();
    expect(stopped).toMatchObject({ run, status: 'stopped' });
    expect(await pageOf(workspace, run)).toContain('Not today');

    store.behave();
    await workspace.write('catalog.csv', 'Colour,Size\nred,L\n');
    const failed = (await workspace.storeferry('run', 'nightly', '--json')).json();
    expect(failed['status']).toBe('failed');
    expect(await pageOf(workspace, failed['run'])).toContain('Handle');
  });

  it('is written for what is retried', async () => {
    await using setup = await setupNightly(10, { safety: '{ maxRejects: off }' });
    const { workspace, store } = setup;
    store.misbehave({ does: errorAnswer(422, 'Not today'), until: 2 });
    const rejected = (await workspace.storeferry('run', 'nightly', '--json')).json();
    expect(await pageOf(workspace, rejected['run'])).toContain('retry');
    store.behave();
    const retried = (await workspace.storeferry('retry', String(rejected['run']), '--json')).json();
    expect(retried).toMatchObject({ status: 'done', applied: 2 });
    expect(await pageOf(workspace, retried['run'])).toContain('<!doctype html>');
  });

  it('decides nothing: what cannot be written is reported, and the run ends as it does', async () => {
    await using setup = await setupNightly(5);
    const { workspace } = setup;
    const planned = (await workspace.storeferry('plan', 'nightly', '--json')).json();
    const page = join(workspace.dir, reportOf(planned['run']));
    await rm(page);
    await mkdir(page);
    const approved = await workspace.storeferry('approve', String(planned['run']), '--json');
    expect(approved.code).toBe(0);
    expect(approved.json()).toMatchObject({ status: 'done', applied: 5 });
    expect(approved.stderr).toContain('report of the run could not be written');
  });

  it('shows the traffic of all continuations', async () => {
    await using setup = await setupNightly(400, {}, { latencyMs: { min: 10, max: 20 } });
    const { workspace, store } = setup;
    const running = workspace.start('run', 'nightly', '--json');
    await until(() => store.requests.length > 100);
    running.process.kill('SIGINT');
    await running.ended;
    const { run } = (await workspace.storeferry('run', 'nightly', '--json')).json();
    await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
    const artifacts = folderArtifacts(join(workspace.dir, '.storeferry', 'artifacts'));
    const known = await state.runs.get(String(run));
    if (known === undefined) throw new Error('the run is not known');
    const context = {
      ...{ state, artifacts, version: '1', workspaceDir: workspace.dir, clock: Date.now },
      ...{ newRunId: () => 'x', redact: String, onEvent: () => {}, signal: new AbortController().signal },
      openStorefront: () => Promise.reject(new Error('nothing is sent')),
    };
    const { traffic } = await readStoredReport(context, known);
    const samples = traffic?.samples ?? [];
    expect(samples.reduce((sum, { requests }) => sum + requests, 0)).toBe(store.requests.length);
    for (const { p50, concurrency } of samples.filter(({ requests }) => requests > 0)) {
      expect(p50).toBeGreaterThan(9);
      expect(concurrency).toBeGreaterThan(0);
    }
  });
});
