import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { hasDied } from '../../src/run/report/read-stored-report.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { until } from '../support/until.ts';
import type { RunningCommand, Workspace } from '../support/workspace.ts';

async function namesIn({ dir }: Workspace, ...folders: readonly string[]): Promise<string[]> {
  return await readdir(join(dir, '.storeferry', 'artifacts', ...folders)).catch(() => []);
}

/** The id of a plan that was killed while its snapshot was read. */
async function killPlan(workspace: Workspace): Promise<string> {
  const killed = workspace.start('plan', 'nightly');
  const found = await until(async () => {
    for (const run of await namesIn(workspace)) {
      if ((await namesIn(workspace, run)).includes('snapshot.json')) return run;
    }
    return undefined;
  });
  killed.process.kill('SIGKILL');
  await killed.ended;
  return found;
}

/** Holds a plan where it is, or a slow start of another one finds it done; but not while it writes to the state. */
async function holdBetweenWrites({ dir }: Workspace, { process }: RunningCommand): Promise<void> {
  await until(() => {
    process.kill('SIGSTOP');
    const database = new DatabaseSync(join(dir, '.storeferry', 'state.db'));
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
      return true;
    } catch {
      process.kill('SIGCONT');
      return false;
    } finally {
      database.close();
    }
  });
}

describe('a plan whose process was killed', () => {
  it.each(['plan', 'run'])('lapses at the next %s, and its copy of the source goes', async (next) => {
    // So many that it is not made before it is killed.
    await using setup = await setupNightly(60_000);
    const { workspace } = setup;
    const killed = await killPlan(workspace);
    {
      await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
      const run = await state.runs.get(killed);
      expect(run?.status).toBe('running');
      expect(run !== undefined && (await hasDied({ state }, run))).toBe(true);
    }
    const shown = await workspace.storeferry('runs', killed);
    expect(shown.stdout).toContain('Plan of nightly for the store main: interrupted');
    expect(shown.stdout).toContain('Its process died at the step');
    expect(shown.stdout).toContain('plan nightly');
    const approved = await workspace.storeferry('approve', killed);
    expect(approved.code).toBe(2);
    expect(approved.stderr).toContain(`The run ${killed} was interrupted: only a planned or stopped run`);
    expect(approved.stderr).toContain(`To plan again: storeferry -C ${workspace.dir} plan nightly`);
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(3)));
    await workspace.storeferry(next, 'nightly');

    await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
    expect((await state.runs.get(killed))?.status).toBe('superseded');
    expect((await namesIn(workspace, killed)).filter((name) => /^source|snapshot/.test(name))).toEqual([]);
  });
});

describe('a plan that is being made', () => {
  it('is waited for by another plan of the job, which takes its place', async () => {
    await using setup = await setupNightly(20_000);
    const { workspace } = setup;
    const first = workspace.start('plan', 'nightly', '--json');
    await until(async () => (await namesIn(workspace)).length > 0);
    await holdBetweenWrites(workspace, first);
    const second = workspace.start('plan', 'nightly', '--json');
    await second.printed('which plans the same job');
    first.process.kill('SIGCONT');
    const { code, json } = await first.ended;
    const waited = await second.ended;
    expect([code, waited.code]).toEqual([0, 0]);
    expect(waited.stderr).toContain(`Waiting for run ${json()['run']} of nightly, which plans the same job.`);
    const listed = await workspace.storeferry('runs', String(json()['run']));
    expect(listed.stdout).toContain('superseded');
  });

  it('does not count as dead, nor once it has ended', async () => {
    await using setup = await setupNightly(20_000);
    const { workspace } = setup;
    const planning = workspace.start('plan', 'nightly', '--json');
    const id = await until(async () => (await namesIn(workspace))[0]);
    await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
    const run = await until(async () => state.runs.get(id));
    expect(await hasDied({ state }, run)).toBe(false);
    expect((await planning.ended).json()).toMatchObject({ run: id, status: 'planned' });
    expect(await hasDied({ state }, run)).toBe(false);
  });
});
