import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formOf, type HttpClient, multipart } from '../dashboard/server/http-client.ts';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { type Store, startStore } from '../support/store.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { hostileSamples, type Sample } from './corpus.ts';
import {
  compareMemory,
  MAX_MEMORY_RATIO,
  MAX_TURN_MS,
  usageFile,
  watchAnswers,
  watchMemory,
} from './hostile-jobs.ts';

const SAMPLES = hostileSamples();
/** Its grace is 30 s; the rest is for the machine. */
const ENDS_WITHIN_MS = 35_000;

describe('a dashboard to which hostile files are uploaded', { timeout: patience(900_000) }, () => {
  let store: Store;
  let workspace: Workspace;
  let usages: ReturnType<typeof usageFile>;
  let dashboard: ServedDashboard;
  let client: HttpClient;
  let run: string;

  beforeAll(async () => {
    store = await startStore({ seed: 1 });
    usages = usageFile();
    workspace = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(20)), { safety: '{ maxRejects: off }' }),
      { STORE_API_KEY: store.apiKey, ...usages.env },
    );
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-3'] });
    run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    dashboard = await serveDashboard(workspace);
    client = await dashboard.signedIn('full');
  });
  afterAll(async () => {
    await workspace?.[Symbol.asyncDispose]();
    await store?.close();
  });

  it.for(['for a new job', 'as corrected rejects'])(
    'answers other pages meanwhile, keeps its memory, and says what is wrong: %s',
    async (what, context) => {
      const page = what === 'for a new job' ? '/new' : `/runs/${run}/retry`;
      const action = `${page}/upload`;
      const { fields } = formOf(await client.get(page), action);
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
      const large = await compareMemory(SAMPLES, upload);
      const late = await stop();
      expect(dashboard.command.stderr()).not.toContain('"a bug"');
      figure(context, {
        invariant: 33,
        seed: null,
        fired: { [`hostile files uploaded ${what}`]: SAMPLES.length },
        measured: [
          none(`late or wrong answers ${late.join('; ')}`, late.length),
          none(`files beyond ${MAX_MEMORY_RATIO} times the memory ${large.join('; ')}`, large.length),
        ],
      });
    },
  );

  it('ends when asked while it reads one, and has always answered', async (context) => {
    const { fields } = formOf(await client.get('/new'), '/new/upload');
    const sample = SAMPLES.find(({ name }) => name === 'repeated-cells');
    const form = multipart(fields, { name: 'asked.ods', content: Buffer.from(sample?.content ?? '') });
    const answer = await client.post('/new/upload', form.body, { 'content-type': form.type });
    const reading = client.get(answer.headers.location ?? '').catch(() => null);
    const from = performance.now();
    dashboard.command.process.kill('SIGTERM');
    expect((await dashboard.command.ended).code).toBe(0);
    expect(performance.now() - from).toBeLessThan(patience(ENDS_WITHIN_MS));
    await reading;
    figure(context, {
      invariant: 33,
      seed: null,
      fired: { 'hostile files in a dashboard': SAMPLES.length },
      measured: [
        atMost(
          patience(MAX_TURN_MS),
          'longest turn of a dashboard in ms',
          (await usages.read()).longestTurnMs,
        ),
      ],
    });
  });
});
