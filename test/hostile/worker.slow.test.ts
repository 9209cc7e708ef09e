import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { openRunQueue, type RunQueue } from '../../src/queue/run-queue.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';
import { makeWorkspace, type RunningCommand, type Workspace } from '../support/workspace.ts';
import { hostileSamples } from './corpus.ts';
import {
  compareMemory,
  HOSTILE_WORKSPACE,
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

describe('a worker that reads hostile files', { timeout: patience(900_000) }, () => {
  let workspace: Workspace;
  let opened: AsyncDisposableStack;
  let worker: RunningCommand;
  let queue: RunQueue;
  let usages: ReturnType<typeof usageFile>;

  async function startWorker(): Promise<RunningCommand> {
    const running = workspace.start('worker', '--listen', '0');
    await running.printed('"ready"');
    return running;
  }

  async function endByTerm({ process, ended }: RunningCommand) {
    const from = performance.now();
    process.kill('SIGTERM');
    const { code } = await ended;
    expect(performance.now() - from).toBeLessThan(patience(ENDS_WITHIN_MS));
    expect(code).toBe(0);
  }

  /** Runs a job in the worker, and gives the most memory that the worker had. */
  async function runJob(name: string, content: string | Uint8Array): Promise<number | null> {
    await writeHostileJob(workspace, name, content, NOTHING_SENT);
    const memory = watchMemory(worker.process.pid);
    const { id } = await queue.enqueue(name, false);
    await until(async () => (await queue.find(id))?.ended, { everyMs: 100 });
    return memory();
  }

  beforeAll(async () => {
    opened = new AsyncDisposableStack();
    usages = usageFile();
    workspace = opened.use(await makeWorkspace(HOSTILE_WORKSPACE, { STORE_API_KEY: 'key', ...usages.env }));
    const open = opened.use(await openContext(workspace.dir, () => {}, new AbortController().signal));
    queue = opened.use(await openRunQueue(open));
    worker = await startWorker();
  });
  afterAll(() => opened.disposeAsync());

  it('answers each second meanwhile, keeps its memory, ends each run, and ends when asked', async (context) => {
    const url = /"url":"(http[^"]+)"/.exec(worker.stderr())?.[1] ?? '';
    const stop = watchAnswers(async () => (await fetch(`${url}/healthz`)).ok);
    const large = await compareMemory(SAMPLES, (name, { content }) => runJob(name, content));
    const late = await stop();
    const log = worker.stderr();
    expect(log).not.toMatch(/bug in Storeferry/i);
    await endByTerm(worker);
    figure(context, {
      invariant: 33,
      seed: null,
      fired: { 'hostile files in a worker': SAMPLES.length },
      measured: [
        none(`late or wrong answers ${late.join('; ')}`, late.length),
        atMost(patience(MAX_TURN_MS), 'longest turn of a worker in ms', (await usages.read()).longestTurnMs),
        none(`files beyond ${MAX_MEMORY_RATIO} times the memory ${large.join('; ')}`, large.length),
      ],
    });
  });

  it('ends when asked while it reads one', async () => {
    worker = await startWorker();
    const sample = SAMPLES.find(({ name }) => name === 'repeated-cells');
    await writeHostileJob(workspace, 'asked', sample?.content ?? '', NOTHING_SENT);
    await queue.enqueue('asked', false);
    await until(async () => (await queue.waiting()).length === 0);
    await endByTerm(worker);
  });
});
