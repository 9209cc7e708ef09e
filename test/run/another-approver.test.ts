import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import { setupNightly } from '../support/nightly.ts';

it.each([
  ['a person', ['anna'], 'anna has started'],
  ['a token that people share', [], 'A token that people share has started'],
  ['a schedule', undefined, null],
])(
  'a plan that %s has started is approved by anna only if she cannot have started it',
  async (_who, starters, refusal) => {
    await using setup = await setupNightly(2, { approval: '{ by: another }' });
    const { workspace, store } = setup;
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
    await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
    const request = await readImportRequest(open.workspace, 'nightly', false);
    const by = (actors: readonly string[] | undefined) => ({ ...open.context, actors });
    const { run: planned } = await executeRun(by(starters), { kind: 'plan', request });
    const approved = executeRun(by(['anna']), { kind: 'approve', request, planned });
    if (refusal === null) expect((await approved).run.status).toBe('done');
    else await expect(approved).rejects.toThrow(refusal);
    expect(store.requests).toHaveLength(refusal === null ? 2 : 0);
  },
);

it.each([
  ['bert', ['bert'], ['bert', 'anna'], 'anna has started'],
  ['a token that people share', [], [], 'A token that people share has started'],
])(
  'a run of %s that anna has continued is not approved by anna',
  async (_who, others, startedBy, refusal) => {
    await using setup = await setupNightly(2, { approval: '{ by: another }' });
    const { workspace, store } = setup;
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
    await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
    const { context } = open;
    const request = await readImportRequest(open.workspace, 'nightly', false);
    const by = (actors: readonly string[]) => ({ ...context, actors });
    const { run } = await executeRun(by(others), { kind: 'run', request });
    expect(run.status).toBe('stopped');
    await context.state.runs.update(run.id, { status: 'running', finishedAt: null });
    const { run: planned } = await executeRun(by(['anna']), { kind: 'run', request });
    expect(planned).toMatchObject({ id: run.id, status: 'stopped', startedBy });
    const approved = executeRun(by(['anna']), { kind: 'approve', request, planned });
    await expect(approved).rejects.toThrow(refusal);
  },
);
