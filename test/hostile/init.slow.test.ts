import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atMost } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { hostileSamples, ordinaryFile } from './corpus.ts';
import { comparedSize, MAX_MEMORY_RATIO, MAX_TURN_MS, usageFile } from './hostile-jobs.ts';

const MAX_CPU_RATIO = 20;
/** Their cost is in what is guessed, which a plan never does; of the other samples `init` and a plan read the same. */
const SAMPLES = hostileSamples().filter(({ name }) => ['columns', 'headers', 'delimiters'].includes(name));

describe('a hostile file for a new workspace', { timeout: patience(600_000) }, () => {
  let workspace: Workspace;
  let usages: ReturnType<typeof usageFile>;

  beforeAll(async () => {
    usages = usageFile();
    workspace = await makeWorkspace({}, usages.env);
  });
  afterAll(() => workspace[Symbol.asyncDispose]());

  async function init(name: string, content: string | Uint8Array) {
    const source = join(workspace.dir, `${name}.csv`);
    await writeFile(source, content);
    const { code, stderr } = await workspace.storeferry(
      ...['init', `${workspace.dir}/${name}`, '--sandbox', '--source', source, '--yes'],
    );
    return { code, stderr, usage: await usages.read() };
  }

  it('costs hardly more than an ordinary one of its size, and never blocks the command', async (context) => {
    const worst = { cpu: 0, memory: 0, turn: 0 };
    for (const { name, size, content } of SAMPLES) {
      const ordinary = await init(`ordinary-${name}`, ordinaryFile('csv', comparedSize(size)));
      expect(ordinary).toMatchObject({ code: 0 });
      const { code, stderr, usage } = await init(name, content);
      expect([0, 1, 2, 3, 4], stderr).toContain(code);
      expect(stderr).not.toMatch(/bug in Storeferry/i);
      worst.cpu = Math.max(worst.cpu, usage.cpuMs / ordinary.usage.cpuMs);
      worst.memory = Math.max(worst.memory, usage.peakMib / ordinary.usage.peakMib);
      worst.turn = Math.max(worst.turn, usage.longestTurnMs);
    }
    figure(context, {
      invariant: 33,
      seed: null,
      fired: { 'hostile files for a new workspace': SAMPLES.length },
      measured: [
        atMost(MAX_CPU_RATIO, 'times the processor of an ordinary file', worst.cpu),
        atMost(MAX_MEMORY_RATIO, 'times the memory of an ordinary file', worst.memory),
        atMost(patience(MAX_TURN_MS), 'longest turn of init in ms', worst.turn),
      ],
    });
  });
});
