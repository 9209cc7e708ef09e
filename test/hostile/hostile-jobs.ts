import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { patience } from '../support/pace.ts';
import { endWithTest, testOver } from '../support/processes.ts';
import type { Workspace } from '../support/workspace.ts';
import { ordinaryFile, type Sample } from './corpus.ts';
import { busyFile, type Usage } from './measure-turns.ts';

/** Less than this is never too much. */
const MEMORY_FLOOR_MIB = 200;
export const MAX_MEMORY_RATIO = 4;
const POLL_MS = 1_000;
/** Within a second of the processor, which `longestTurnMs` proves; the rest is for the machine. */
const ANSWER_WITHIN_MS = 5_000;
export const MAX_TURN_MS = 1_000;
const PRELOAD = pathToFileURL(join(import.meta.dirname, 'measure-turns.ts')).href;

/** What every workspace of these tests has besides its jobs. */
export const HOSTILE_WORKSPACE: Readonly<Record<string, string>> = {
  'stores.yaml': `main: { baseUrl: 'http://127.0.0.1:9', apiKey: '\${STORE_API_KEY}' }\n`,
  'mappings/m.yaml':
    'import: products\ncolumns: { url: Handle, title: Title, price: [Variant Price, price] }\nproduct: { url: url, title: title }\nvariants: { pricing: { price: price } }\n',
};

/** Writes a job, and the file that it reads. `safety` are further limits of it. */
export async function writeHostileJob(
  workspace: Workspace,
  job: string,
  content: string | Uint8Array,
  safety = '',
): Promise<void> {
  await writeFile(join(workspace.dir, `${job}.source`), content);
  await workspace.write(
    `jobs/${job}.yaml`,
    `import: products\nstore: main\nsource: { path: ${job}.source }\nmapping: m\nhtml: strip\nduplicates: first\nsafety: { maxRejects: off${safety} }\n`,
  );
}

/** What a process took, once it has ended with these variables in its environment. */
export function usageFile() {
  const file = join(tmpdir(), `storeferry-usage-${randomUUID()}.json`);
  endWithTest(() => Promise.all([file, busyFile(file)].map((each) => rm(each, { force: true }))));
  return {
    env: {
      NODE_OPTIONS: `--import=${PRELOAD}`,
      STOREFERRY_USAGE: file,
      // Otherwise each process and each of its threads strips the types of what is preloaded.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    },
    /** Whether a thread of the process converts or guesses at the moment. */
    isBusy: () => existsSync(busyFile(file)),
    read: async (): Promise<Usage> => JSON.parse(await readFile(file, 'utf8')),
  };
}

/**
 * Asks a process for a page each second until it is stopped; gives the answers that were late or wrong. The time in which
 * this process did something else does not count.
 */
export function watchAnswers(ask: () => Promise<boolean>): () => Promise<readonly string[]> {
  const wrong: string[] = [];
  const over = testOver();
  let isStopped = false;
  const polling = (async () => {
    while (!isStopped && !over.aborted) {
      const from = performance.now();
      const before = performance.eventLoopUtilization();
      const ok = await ask().catch((error: unknown) => String(error));
      const ms = performance.now() - from - performance.eventLoopUtilization(before).active;
      if (ok !== true || ms > patience(ANSWER_WITHIN_MS)) wrong.push(`${ok} after ${Math.round(ms)} ms`);
      await sleep(POLL_MS);
    }
  })();
  return async () => {
    isStopped = true;
    await polling;
    return wrong;
  };
}

/** Measures the most memory that a process has from now on, in MiB; null where the system does not say. */
export function watchMemory(pid: number | undefined): () => number | null {
  const folder = `/proc/${pid}`;
  const read = () => {
    try {
      return readFileSync(`${folder}/status`, 'utf8');
    } catch {
      return '';
    }
  };
  if (read() !== '') writeFileSync(`${folder}/clear_refs`, '5');
  return () => {
    const kib = /VmHWM:\s+(\d+)/.exec(read())?.[1];
    return kib === undefined ? null : Number(kib) / 1_024;
  };
}

/**
 * The samples in two halves, for two processes side by side; all of a format are in one, which then measures one ordinary
 * file of it.
 */
export function halvesOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const isText = ({ format }: Sample) => ['csv', 'json', 'jsonl'].includes(format);
  return [samples.filter(isText), samples.filter((sample) => !isText(sample))];
}

/** The size of the ordinary file that all samples of a format are compared with: hardly any is smaller. */
const ORDINARY_BYTES = 256 * 1_024;

/** Does the same work with every sample and with an ordinary file of its format; gives those that took far more memory. */
export async function compareMemory(
  samples: readonly Sample[],
  measure: (name: string, sample: Pick<Sample, 'format' | 'content'>) => Promise<number | null>,
): Promise<readonly string[]> {
  const ordinary = new Map<string, number>();
  const large: string[] = [];
  for (const { name, format, content } of samples) {
    const known =
      ordinary.get(format) ??
      (await measure(`ordinary-${format}`, { format, content: ordinaryFile(format, ORDINARY_BYTES) })) ??
      MEMORY_FLOOR_MIB;
    ordinary.set(format, known);
    const peak = (await measure(`${name}-${format}`, { format, content })) ?? 0;
    if (peak > Math.max(MAX_MEMORY_RATIO * known, MEMORY_FLOOR_MIB))
      large.push(`${name}.${format}: ${Math.round(peak)} MiB, an ordinary one ${Math.round(known)} MiB`);
  }
  return large;
}

/** The size of the ordinary file that one of this size is compared with, so that a few of them are enough. */
export function comparedSize(size: number): number {
  return 4 ** Math.max(9, Math.ceil(Math.log(size) / Math.log(4)));
}
