import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { startProcess } from '../support/processes.ts';

/** `STOREFERRY_MAIN=dist/cli/main.js` measures what `npm run build` makes. */
const MAIN = resolve(import.meta.dirname, '..', '..', process.env['STOREFERRY_MAIN'] ?? 'src/cli/main.ts');
const usageSchema = z.object({ maxRssMiB: z.number(), cpuMs: z.number() });

/** A process from its start to its end. */
export interface ProcessFigures extends z.infer<typeof usageSchema> {
  readonly wallMs: number;
  readonly stdout: string;
}

/** Runs a script of this folder, or `storeferry`, and measures the whole process. Throws when it fails. */
export async function runProcess(
  script: 'storeferry' | `${string}.ts`,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProcessFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-usage-'));
  const usage = join(folder, 'usage.json');
  const path = script === 'storeferry' ? MAIN : join(import.meta.dirname, script);
  const startedAt = performance.now();
  const preload = join(import.meta.dirname, 'report-usage.ts');
  const child = startProcess(process.execPath, ['--import', preload, path, ...args], {
    env: { PATH: process.env['PATH'], HOME: folder, BENCH_USAGE: usage, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  const wallMs = performance.now() - startedAt;
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  const used = usageSchema.parse(JSON.parse(await readFile(usage, 'utf8')));
  await rm(folder, { recursive: true });
  return { ...used, wallMs, stdout };
}
