import { describe, expect, it } from 'vitest';
import type { RunStatus } from '../../../src/model/run.ts';
import { aRun } from '../../report/run-facts.ts';
import { cellsOf, type PagesScene, setupPages, textOf } from './setup.ts';

const NOW = Date.UTC(2030, 0, 15, 12);
const HOUR_MS = 3_600_000;

/** Runs of two jobs, an hour apart, the first named the latest. */
async function sceneWith(
  ...runs: readonly (readonly [job: string, status: RunStatus])[]
): Promise<PagesScene> {
  const scene = await setupPages({ 'stores.yaml': '{}\n' }, { now: () => NOW });
  for (const [index, [job, status]] of [...runs.entries()].reverse()) {
    const startedAt = NOW - (index + 1) * HOUR_MS;
    await scene.state.runs.create(
      aRun({ id: `run${index}`, job, status, startedAt, finishedAt: startedAt + 1_000 }),
    );
  }
  return scene;
}

const shownRuns = async (scene: PagesScene, url: string) =>
  [...(await scene.get(url)).document.querySelectorAll('tbody th a')].map(textOf);

describe('the page of runs', () => {
  it('lists the runs of all jobs, the latest first', async () => {
    await using scene = await sceneWith(['nightly', 'done'], ['contacts', 'failed']);
    expect(await shownRuns(scene, '/runs')).toEqual(['run0', 'run1']);
    const rows = [...(await scene.get('/runs')).document.querySelectorAll('tbody tr')].map(cellsOf);
    expect(rows[1]).toMatch(/^run1 \| contacts \| Failed \| .* 2 h ago \| 1 s$/);
  });

  it('leads to the runs of clones, whose job has no page', async () => {
    await using scene = await sceneWith(['clone@standby', 'done'], ['nightly', 'done']);
    const { document } = await scene.get('/runs');
    const links = [...document.querySelectorAll('a.job-name')].map((link) => link.getAttribute('href'));
    expect(links).toEqual(['/runs?job=clone%40standby', '/jobs/nightly']);
    expect(await shownRuns(scene, links[0] ?? '')).toEqual(['run0']);
  });

  it('shows those of a job and of an outcome, and the form as it was filled in', async () => {
    await using scene = await sceneWith(['nightly', 'done'], ['contacts', 'failed'], ['nightly', 'failed']);
    expect(await shownRuns(scene, '/runs?job=nightly')).toEqual(['run0', 'run2']);
    expect(await shownRuns(scene, '/runs?job=nightly&status=failed')).toEqual(['run2']);
    const { document } = await scene.get('/runs?job=nightly&status=failed');
    const chosen = [...document.querySelectorAll('option[selected]')].map((option) =>
      option.getAttribute('value'),
    );
    expect(chosen).toEqual(['nightly', 'failed']);
  });

  it('takes what is no status for all of them, and says when none match', async () => {
    await using scene = await sceneWith(['nightly', 'done']);
    expect(await shownRuns(scene, '/runs?status=perhaps&status=done')).toEqual(['run0']);
    const { document } = await scene.get('/runs?job=other');
    expect(textOf(document.querySelector('.empty'))).toContain('No runs match');
  });

  it('turns pages without forgetting the filter', async () => {
    const many = Array.from(
      { length: 60 },
      (_, index) => [index % 2 === 0 ? 'nightly' : 'contacts', 'done'] as const,
    );
    await using scene = await sceneWith(...many);
    expect(await shownRuns(scene, '/runs')).toHaveLength(25);
    expect(await shownRuns(scene, '/runs?page=3')).toHaveLength(10);
    expect(await shownRuns(scene, '/runs?page=99')).toHaveLength(10);
    expect(await shownRuns(scene, '/runs?page=-1')).toHaveLength(25);
    const { document } = await scene.get('/runs?job=nightly');
    expect(document.querySelector('[rel="next"]')?.getAttribute('href')).toBe('/runs?job=nightly&page=2');
  });

  it('says why a run did not end well, and keeps colours that call for action to the latest run of a job', async () => {
    await using scene = await sceneWith(
      ['nightly', 'failed'],
      ['nightly', 'done-with-rejects'],
      ['nightly', 'done'],
    );
    await scene.state.runs.update('run0', {
      error: 'catalog.csv: No file matches. In data there are: a.csv.',
    });
    const { document } = await scene.get('/runs');
    const badges = [...document.querySelectorAll('tbody .badge')].map((badge) => badge.getAttribute('class'));
    expect(badges).toEqual(['badge bad', 'badge quiet', 'badge good']);
    expect([...document.querySelectorAll('.why')].map(textOf)).toEqual(['catalog.csv: No file matches.']);
  });

  it('counts a run whose process died as interrupted', async () => {
    await using scene = await sceneWith(['nightly', 'running']);
    expect(await shownRuns(scene, '/runs?status=running')).toEqual([]);
    expect(await shownRuns(scene, '/runs?status=interrupted')).toEqual(['run0']);
  });

  it('shows a newcomer how to begin', async () => {
    await using scene = await sceneWith();
    expect(textOf((await scene.get('/runs')).document.querySelector('.empty'))).toContain(
      'Start with one from the jobs.',
    );
  });
});
