import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runProcess } from '../support/processes.ts';

/** No time is held against anything here: only that each bench still does its work and has its row. */
async function tableOf(only: string, scale: string): Promise<string> {
  const bench = join(import.meta.dirname, 'bench.ts');
  const { stdout } = await runProcess(process.execPath, [
    ...[bench, '--only', only, '--scale', scale],
    ...['--rounds', '1'],
  ]);
  return stdout;
}

describe('npm run bench', () => {
  it('measures a first import and a second run', async () => {
    const table = await tableOf('first-import,next-run', '0.001');
    expect(table).toContain('| first import, 30 products: while it sends');
    expect(table).toContain('| unchanged run, 1000 rows, SQLite');
    expect(table).toMatch(/scale 0.001, medians of 1 rounds, Node v24/);
  });

  it('measures the limiter before stores with hidden limits', async () => {
    const table = await tableOf('limiter', '0.01');
    expect(table.match(/^\| the limiter, hidden limit/gm)).toHaveLength(3);
  });

  it('measures what rows, requests and entries of the state cost', async () => {
    const scale = join(import.meta.dirname, 'scale.ts');
    const { stdout } = await runProcess(process.execPath, [scale, '--rows', '400', '--state', 'sqlite']);
    expect(stdout).toMatch(/^\| approve \| .* \| 1\d\d \| /m);
    expect(stdout).toMatch(/^state of a product after its first import: [1-9]\d* bytes/m);
  });
});
