import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ProcessFigures, runProcess } from './run-process.ts';

/** A workspace with one job, `nightly`, that imports a catalog; the key of its store is any. */
export interface BenchWorkspace {
  readonly dir: string;
  /** Runs `storeferry` in it. */
  storeferry(...args: readonly string[]): Promise<ProcessFigures>;
  /** Forgets all that was done. */
  forget(): Promise<void>;
}

interface BenchWorkspaceOptions {
  readonly catalog: string;
  readonly baseUrl: string;
  readonly concurrency: number;
  readonly redisUrl?: string;
}

export const BENCH_KEY = 'a-key-of-the-bench';

export async function benchWorkspace(
  dir: string,
  { catalog, baseUrl, concurrency, redisUrl }: BenchWorkspaceOptions,
): Promise<BenchWorkspace> {
  await mkdir(join(dir, 'jobs'), { recursive: true });
  const stores = [
    'main:',
    `  baseUrl: ${baseUrl}`,
    `  apiKey: $\{STORE_API_KEY}`,
    `  limits: { concurrency: ${concurrency} }`,
  ];
  await writeFile(join(dir, 'stores.yaml'), `${stores.join('\n')}\n`);
  const job = [
    'import: products',
    'store: main',
    `source: { path: ${JSON.stringify(catalog)} }`,
    'mapping: shopify-products',
  ];
  await writeFile(join(dir, 'jobs', 'nightly.yaml'), `${job.join('\n')}\n`);
  const env = {
    STORE_API_KEY: BENCH_KEY,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
  };
  return {
    dir,
    storeferry: (...args) => runProcess('storeferry', ['-C', dir, ...args], env),
    forget: () => rm(join(dir, '.storeferry'), { recursive: true, force: true }),
  };
}
