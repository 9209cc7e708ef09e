import { describe, expect, it } from 'vitest';
import { formOf, multipart } from '../dashboard/server/http-client.ts';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { hostileSamples, type Sample } from './corpus.ts';
import {
  compareMemory,
  HOSTILE_WORKSPACE,
  halvesOf,
  MAX_MEMORY_RATIO,
  MAX_TURN_MS,
  usageFile,
  watchAnswers,
  watchMemory,
  writeHostileJob,
} from './hostile-jobs.ts';

const SAMPLES = hostileSamples();
/** Its grace is 30 s; the rest is for the machine. */
const ENDS_WITHIN_MS = 35_000;

/** A dashboard of a workspace that has a run with a rejected row. */
async function openDashboard() {
  const opened = new AsyncDisposableStack();
  const store = opened.adopt(await startStore({ seed: 1 }), (one) => one.close());
  const usages = usageFile();
  const workspace = opened.use(
    await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(20)), { safety: '{ maxRejects: off }' }),
      { STORE_API_KEY: store.apiKey, ...usages.env },
    ),
  );
  store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-3'] });
  const run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
  const dashboard = await serveDashboard(workspace);
  return {
    workspace,
    dashboard,
    client: await dashboard.signedIn('full'),
    pages: { 'for a new job': '/new', 'as corrected rejects': `/runs/${run}/retry` },
    async endByTerm() {
      const from = performance.now();
      dashboard.command.process.kill('SIGTERM');
      expect((await dashboard.command.ended).code).toBe(0);
      expect(performance.now() - from).toBeLessThan(patience(ENDS_WITHIN_MS));
      return (await usages.read()).longestTurnMs;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

describe('a dashboard to which hostile files are uploaded', { timeout: patience(900_000) }, () => {
  const halves = halvesOf(SAMPLES);
  const uploads = (['for a new job', 'as corrected rejects'] as const).flatMap((what) =>
    halves.map((samples) => ({ what, samples })),
  );

  it.concurrent.for(uploads)(
    'answers other pages meanwhile, keeps its memory, and says what is wrong: $what',
    async ({ what, samples }, context) => {
      await using scene = await openDashboard();
      const { dashboard, client, pages } = scene;
      const action = `${pages[what]}/upload`;
      const { fields } = formOf(await client.get(pages[what]), action);
      const upload = async (
        name: string,
        { format, content }: Pick<Sample, 'format' | 'content'>,
      ): Promise<number | null> => {
        const memory = watchMemory(dashboard.command.process.pid);
        const form = multipart(fields, { name: `${name}.${format}`, content: Buffer.from(content) });
        const answer = await client.follow(
          await client.post(action, form.body, { 'content-type': form.type }),
        );
        expect([200, 422], `${name}: ${answer.words}`).toContain(answer.status);
        expect(answer.words).not.toContain('This is a bug');
        return memory();
      };
      const stop = watchAnswers(async () => (await client.get('/runs')).status === 200);
      const large = await compareMemory(samples, upload);
      const late = await stop();
      expect(dashboard.command.stderr()).not.toContain('"a bug"');
      figure(context, {
        invariant: 33,
        seed: null,
        fired: { [`hostile files uploaded ${what}`]: samples.length },
        measured: [
          none(`late or wrong answers ${late.join('; ')}`, late.length),
          none(`files beyond ${MAX_MEMORY_RATIO} times the memory ${large.join('; ')}`, large.length),
          atMost(patience(MAX_TURN_MS), 'longest turn of a dashboard in ms', await scene.endByTerm()),
        ],
      });
    },
  );

  it('matches the columns of wide files', async (context) => {
    await using scene = await openDashboard();
    const { workspace, dashboard, client } = scene;
    const wide = SAMPLES.filter(({ name }) => ['columns', 'headers'].includes(name));
    const large = await compareMemory(wide, async (name, { content }) => {
      await writeHostileJob(workspace, name, content);
      await workspace.write('mappings/m.yaml', HOSTILE_WORKSPACE['mappings/m.yaml'] ?? '');
      const memory = watchMemory(dashboard.command.process.pid);
      expect((await client.get(`/jobs/${name}/columns`)).status).toBe(200);
      return memory();
    });
    figure(context, {
      invariant: 33,
      seed: null,
      fired: { 'hostile files whose columns are matched': wide.length },
      measured: [
        none(`files beyond ${MAX_MEMORY_RATIO} times the memory ${large.join('; ')}`, large.length),
        atMost(patience(MAX_TURN_MS), 'longest turn of a dashboard in ms', await scene.endByTerm()),
      ],
    });
  });

  it('ends when asked while it reads one', async () => {
    await using scene = await openDashboard();
    const { client } = scene;
    const { fields } = formOf(await client.get('/new'), '/new/upload');
    const sample = SAMPLES.find(({ name }) => name === 'repeated-cells');
    const form = multipart(fields, { name: 'asked.ods', content: Buffer.from(sample?.content ?? '') });
    const answer = await client.post('/new/upload', form.body, { 'content-type': form.type });
    const reading = client.get(answer.headers.location ?? '').catch(() => null);
    await scene.endByTerm();
    await reading;
  });
});
