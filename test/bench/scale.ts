import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../support/redis.ts';
import { type BenchWorkspace, benchWorkspace } from './bench-workspace.ts';
import type { ProcessFigures } from './run-process.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

/**
 * Measures what a row, a request, a ledger entry and a version cost: each step at two sizes, so that what grows with
 * the rows is told apart from what a process costs anyway. docs/scale.md has the figures.
 *
 *     node test/bench/scale.ts [--rows 400000] [--state sqlite,redis]
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '400000' },
    state: { type: 'string', default: 'sqlite,redis' },
  },
});
const LARGE = Number(values.rows);
const SMALL = Math.round(LARGE / 4);
const MORE_PRICES = 0.2;
const MIB = 1_048_576;

interface Step {
  readonly name: string;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly maxRssMiB: number;
  readonly requests: number;
  readonly state: StateFigures;
}

interface StateFigures {
  /** Of the pages that the database uses, or of the data in Redis. */
  readonly bytes: number;
  /** Of the Redis server since its start; 0 with SQLite, whose thread is part of the process. */
  readonly cpuMs: number;
  readonly commands: number;
}

const STEPS = ['plan', 'approve', 'unchanged', '1 % changed', '20 % changed', 'unchanged again'] as const;

async function measure(kind: string, rows: number): Promise<{ products: number; steps: readonly Step[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-scale-'));
  try {
    using store = await startPlainStore();
    await using redis =
      kind === 'redis' ? await startRedis({ settings: { appendfsync: 'everysec' } }) : undefined;
    const catalog = join(folder, 'catalog.csv');
    const workspace = await benchWorkspace(join(folder, 'shop'), {
      ...{ catalog, baseUrl: store.baseUrl, concurrency: 64 },
      ...(redis === undefined ? {} : { redisUrl: redis.url }),
    });
    const steps: Step[] = [];
    const step = async (name: (typeof STEPS)[number], ...args: readonly string[]) => {
      const figures = await workspace.storeferry(...args, '--json');
      const { requests } = await store.figures();
      const state = await stateFigures(workspace, redis?.url);
      steps.push({ name, ...figures, requests, state });
      console.error(
        `${kind}, ${rows} rows, ${name}: ${(figures.wallMs / 1_000).toFixed(1)} s, CPU ${(figures.cpuMs / 1_000).toFixed(1)} s, ${figures.maxRssMiB.toFixed(0)} MiB, ${requests} requests, state ${(state.bytes / MIB).toFixed(1)} MiB`,
      );
      return figures;
    };
    const { products } = await writeCatalog(catalog, { rows });
    await step('approve', 'approve', runOf(await step('plan', 'plan', 'nightly')));
    await step('unchanged', 'run', 'nightly');
    await writeCatalog(catalog, { rows }, { otherPrices: 0.01 });
    await step('1 % changed', 'run', 'nightly');
    await writeCatalog(catalog, { rows }, { otherPrices: MORE_PRICES });
    await step('20 % changed', 'run', 'nightly');
    await step('unchanged again', 'run', 'nightly');
    return { products, steps };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function runOf({ stdout }: ProcessFigures): string {
  const { run }: Record<string, unknown> = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  return String(run);
}

async function stateFigures({ dir }: BenchWorkspace, redisUrl: string | undefined): Promise<StateFigures> {
  if (redisUrl === undefined) {
    using database = new DatabaseSync(join(dir, '.storeferry', 'state.db'), { readOnly: true });
    const figure = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
    const bytes = (figure('page_count') - figure('freelist_count')) * figure('page_size');
    return { bytes, cpuMs: 0, commands: 0 };
  }
  const client = new Redis(redisUrl);
  const info = await client.info();
  client.disconnect();
  const figure = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return {
    bytes: figure('used_memory_dataset'),
    cpuMs: (figure('used_cpu_user') + figure('used_cpu_sys')) * 1_000,
    commands: figure('total_commands_processed'),
  };
}

for (const kind of values.state.split(',')) {
  const small = await measure(kind, SMALL);
  const large = await measure(kind, LARGE);
  console.log(`\n${kind}: ${SMALL} and ${LARGE} rows, ${small.products} and ${large.products} products\n`);
  console.log(
    '| step | seconds | CPU s | µs CPU a row | requests | a second | peak MiB | state MiB | Redis: CPU s | commands |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|');
  for (const [index, of] of large.steps.entries()) {
    const redisBefore = large.steps[index - 1]?.state;
    const before = small.steps[index] ?? of;
    const perRow = ((of.cpuMs - before.cpuMs) * 1_000) / (LARGE - SMALL);
    const cells = [
      ...[of.name, (of.wallMs / 1_000).toFixed(1), (of.cpuMs / 1_000).toFixed(1), perRow.toFixed(1)],
      ...[of.requests, of.requests === 0 ? '' : Math.round(of.requests / (of.wallMs / 1_000))],
      ...[`${before.maxRssMiB.toFixed(0)}, ${of.maxRssMiB.toFixed(0)}`, (of.state.bytes / MIB).toFixed(1)],
      ...[((of.state.cpuMs - (redisBefore?.cpuMs ?? 0)) / 1_000).toFixed(1)],
      ...[of.state.commands - (redisBefore?.commands ?? 0)],
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  const at = (name: (typeof STEPS)[number]) => ({
    small: small.steps.find((step) => step.name === name),
    large: large.steps.find((step) => step.name === name),
  });
  const grown = (name: (typeof STEPS)[number]) =>
    (at(name).large?.state.bytes ?? 0) - (at(name).small?.state.bytes ?? 0);
  const entry = grown('approve') / (large.products - small.products);
  const versions = at('20 % changed').large?.requests ?? 0;
  const versionBytes =
    (at('20 % changed').large?.state.bytes ?? 0) - (at('1 % changed').large?.state.bytes ?? 0);
  console.log(
    `\nstate of a product after its first import: ${entry.toFixed(0)} bytes; of a further version (a price): ${(versionBytes / versions).toFixed(0)} bytes`,
  );
}
