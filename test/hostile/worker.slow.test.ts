import { describe, expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { openRunQueue } from '../../src/queue/run-queue.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';
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
/** A worker is given 7 s; the rest is for the machine. */
const ENDS_WITHIN_MS = 10_000;
/** The plan is made, and the store is never asked. */
const NOTHING_SENT = ', minRows: 100000000';

/** A workspace with its worker. */
async function openWorker() {
  const opened = new AsyncDisposableStack();
  const usages = usageFile();
  const workspace = opened.use(
    await makeWorkspace(HOSTILE_WORKSPACE, { STORE_API_KEY: 'key', ...usages.env }),
  );
  const open = opened.use(await openContext(workspace.dir, () => {}, new AbortController().signal));
  const queue = opened.use(await openRunQueue(open));
  const worker = workspace.start('worker', '--listen', '0');
  await worker.printed('"ready"');
  return {
    usages,
    workspace,
    queue,
    worker,
    async endByTerm() {
      const from = performance.now();
      worker.process.kill('SIGTERM');
      const { code } = await worker.ended;
      expect(performance.now() - from).toBeLessThan(patience(ENDS_WITHIN_MS));
      expect(code).toBe(0);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

describe('a worker that reads hostile files', { timeout: patience(900_000) }, () => {
  it.concurrent.for(halvesOf(SAMPLES))(
    'answers each second meanwhile, keeps its memory, ends each run, and ends when asked',
    async (samples, context) => {
      await using scene = await openWorker();
      const { usages, workspace, queue, worker } = scene;
      /** Runs a job in the worker, and gives the most memory that the worker had. */
      const runJob = async (name: string, { content }: Pick<Sample, 'content'>): Promise<number | null> => {
        await writeHostileJob(workspace, name, content, NOTHING_SENT);
        const memory = watchMemory(worker.process.pid);
        const { id } = await queue.enqueue({ does: 'run', job: name });
        await until(async () => (await queue.find(id))?.ended, { everyMs: 20 });
        return memory();
      };
      const url = /"url":"(http[^"]+)"/.exec(worker.stderr())?.[1] ?? '';
      const stop = watchAnswers(async () => (await fetch(`${url}/healthz`)).ok);
      const large = await compareMemory(samples, runJob);
      const late = await stop();
      expect(worker.stderr()).not.toMatch(/bug in Storeferry/i);
      await scene.endByTerm();
      figure(context, {
        invariant: 33,
        seed: null,
        fired: { 'hostile files in a worker': samples.length },
        measured: [
          none(`late or wrong answers ${late.join('; ')}`, late.length),
          atMost(
            patience(MAX_TURN_MS),
            'longest turn of a worker in ms',
            (await usages.read()).longestTurnMs,
          ),
          none(`files beyond ${MAX_MEMORY_RATIO} times the memory ${large.join('; ')}`, large.length),
        ],
      });
    },
  );

  it('ends when asked while it reads one', async () => {
    await using scene = await openWorker();
    const sample = SAMPLES.find(({ name }) => name === 'repeated-cells');
    await writeHostileJob(scene.workspace, 'asked', sample?.content ?? '', NOTHING_SENT);
    await scene.queue.enqueue({ does: 'run', job: 'asked' });
    await until(async () => (await scene.queue.waiting()).length === 0);
    await scene.endByTerm();
  });
});
