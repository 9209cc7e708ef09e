import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atMost } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { hostileSamples, ordinaryFile, type Sample, type SampleFormat } from './corpus.ts';
import {
  comparedSize,
  HOSTILE_WORKSPACE,
  MAX_MEMORY_RATIO,
  MAX_TURN_MS,
  usageFile,
  writeHostileJob,
} from './hostile-jobs.ts';
import type { Usage } from './measure-turns.ts';

const MAX_CPU_RATIO = 20;
const SAMPLES = hostileSamples();

describe('a hostile file', { timeout: patience(600_000) }, () => {
  let workspace: Workspace;
  let usages: ReturnType<typeof usageFile>;
  const baselines = new Map<string, Usage>();
  const worst = { cpu: 0, memory: 0, turn: 0 };

  beforeAll(async () => {
    usages = usageFile();
    workspace = await makeWorkspace(HOSTILE_WORKSPACE, { STORE_API_KEY: 'key', ...usages.env });
  });
  afterAll(() => workspace[Symbol.asyncDispose]());

  async function plan(job: string, content: string | Uint8Array) {
    await writeHostileJob(workspace, job, content);
    const { code, stdout, stderr } = await workspace.storeferry('plan', job);
    const usage = await usages.read();
    return { code, text: `${stdout}${stderr}`, usage };
  }

  /** What an ordinary file of about this size takes. */
  async function baselineOf(format: SampleFormat, size: number): Promise<Usage> {
    const bytes = comparedSize(size);
    const key = `ordinary-${format}-${bytes}`;
    const known = baselines.get(key);
    if (known !== undefined) return known;
    const { code, text, usage } = await plan(key, ordinaryFile(format, bytes));
    expect({ code, text }).toMatchObject({ code: 0 });
    baselines.set(key, usage);
    return usage;
  }

  it.each(SAMPLES.map((sample) => [`${sample.name}.${sample.format}`, sample] as const))(
    'costs the command hardly more than an ordinary one of its size: %s',
    async (_, { name, format, size, content }: Sample) => {
      const baseline = await baselineOf(format, size);
      const { code, text, usage } = await plan(`${name}-${format}`, content);
      expect(text).not.toMatch(/bug in Storeferry/i);
      // Planned, failed with a reason, with rejects, or stopped by a safety limit.
      expect([0, 1, 3, 4], text).toContain(code);
      const ratios = { cpu: usage.cpuMs / baseline.cpuMs, memory: usage.peakMib / baseline.peakMib };
      expect(ratios.cpu, `${JSON.stringify({ usage, baseline })} ${text}`).toBeLessThan(MAX_CPU_RATIO);
      expect(ratios.memory, `${JSON.stringify({ usage, baseline })} ${text}`).toBeLessThan(MAX_MEMORY_RATIO);
      expect(usage.longestTurnMs).toBeLessThan(patience(MAX_TURN_MS) + baseline.longestTurnMs);
      worst.cpu = Math.max(worst.cpu, ratios.cpu);
      worst.memory = Math.max(worst.memory, ratios.memory);
      worst.turn = Math.max(worst.turn, usage.longestTurnMs);
    },
  );

  it('is bounded as the invariant says', (context) => {
    figure(context, {
      invariant: 33,
      seed: null,
      fired: { 'hostile files': SAMPLES.length },
      measured: [
        atMost(MAX_CPU_RATIO, 'times the processor of an ordinary file', worst.cpu),
        atMost(MAX_MEMORY_RATIO, 'times the memory of an ordinary file', worst.memory),
        atMost(Math.round(patience(MAX_TURN_MS) * 2), 'longest turn in ms', worst.turn),
      ],
    });
  });
});
