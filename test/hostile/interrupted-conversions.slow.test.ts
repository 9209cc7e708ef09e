import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { openRunQueue } from '../../src/queue/run-queue.ts';
import { formOf, multipart } from '../dashboard/server/http-client.ts';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';
import { makeWorkspace, type RunningCommand, type Workspace } from '../support/workspace.ts';
import { hostileSamples } from './corpus.ts';
import { HOSTILE_WORKSPACE, usageFile, writeHostileJob } from './hostile-jobs.ts';

/** Less than the grace of each, and than what the conversion takes. */
const ENDS_WITHIN_MS = 5_000;
/** To convert these takes seconds of the processor, on any machine and by the published code. */
const large = hostileSamples().find(({ name }) => name === 'repeated-cells');
const wide = hostileSamples().find(({ name }) => name === 'columns');

/** SIGTERM while a thread converts or examines the file: each process ends at once, and the thread with it. */
describe('SIGTERM in the middle of it', { timeout: patience(60_000) }, () => {
  let workspace: Workspace;
  let usages: ReturnType<typeof usageFile>;

  beforeEach(async () => {
    usages = usageFile();
    workspace = await makeWorkspace(HOSTILE_WORKSPACE, { STORE_API_KEY: 'key', ...usages.env });
    await writeHostileJob(workspace, 'large', large?.content ?? '');
  });
  afterEach(() => workspace[Symbol.asyncDispose]());

  async function endWhileBusy({ process, ended }: RunningCommand) {
    await until(() => usages.isBusy(), { everyMs: 10 });
    const from = performance.now();
    process.kill('SIGTERM');
    const result = await ended;
    expect(performance.now() - from).toBeLessThan(patience(ENDS_WITHIN_MS));
    return result;
  }

  it('ends a plan, which is interrupted and can be made again', async () => {
    const { code } = await endWhileBusy(workspace.start('plan', 'large'));
    expect(code).toBe(130);
    const runs = await workspace.storeferry('runs', 'large', '--json');
    expect(runs.json()).toMatchObject({ runs: [{ status: 'interrupted', rows: 0 }] });
  });

  it('ends an init, which has written nothing', async () => {
    await writeHostileJob(workspace, 'wide', wide?.content ?? '');
    const options = ['--sandbox', '--source', `${workspace.dir}/wide.source`, '--yes'];
    const { code, stderr } = await endWhileBusy(workspace.start('init', `${workspace.dir}/new`, ...options));
    expect({ code, stderr }).toMatchObject({ code: 130, stderr: expect.stringContaining('SIGTERM') });
    expect(existsSync(`${workspace.dir}/new`)).toBe(false);
  });

  it('ends a worker, which leaves the run to the next one', async () => {
    const worker = workspace.start('worker', '--listen', '0');
    await worker.printed('"ready"');
    await using opened = new AsyncDisposableStack();
    const open = opened.use(await openContext(workspace.dir, () => {}, new AbortController().signal));
    const queue = opened.use(await openRunQueue(open));
    const { id } = await queue.enqueue({ does: 'run', job: 'large' });
    expect((await endWhileBusy(worker)).code).toBe(0);
    expect(await queue.find(id)).toMatchObject({ ended: false });
  });

  it('ends a dashboard', async () => {
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const { fields } = formOf(await client.get('/new'), '/new/upload');
    // It converts only a sample, which may be over too soon; guessing by 16 000 columns takes longer.
    const form = multipart(fields, { name: 'wide.csv', content: Buffer.from(wide?.content ?? '') });
    const answer = await client.post('/new/upload', form.body, { 'content-type': form.type });
    const reading = client.get(answer.headers.location ?? '').catch(() => null);
    expect((await endWhileBusy(dashboard.command)).code).toBe(0);
    await reading;
  });
});
