import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DEFAULT_CSV_LIMITS } from '../../src/csv/csv-limits.ts';
import { DEFAULT_SOURCE_LIMITS } from '../../src/source/source-limits.ts';
import { makeZip } from '../source/make-zip.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { SCALE } from './scale.ts';

const CSV = shopifyCatalog(manyProducts(20));
const LARGE = `${CSV}${'mug,Mug,,,,,,,,,1.00,,,,\n'.repeat(3_000_000)}`;

/** For each limit a value that the source exceeds; all are far below their defaults but `ratio`. */
const LIMITS: Readonly<Record<string, { readonly most: number; readonly source?: () => Uint8Array }>> = {
  rowBytes: { most: 150 },
  cellBytes: { most: 20 },
  rows: { most: 10 },
  columns: { most: 5 },
  bytes: { most: 1_000 },
  ratio: { most: 10, source: () => gzipSync(LARGE) },
  fileCount: {
    most: 1,
    source: () => makeZip(['a.csv', 'b.csv'].map((name) => ({ name, content: CSV }))),
  },
};

const UNITS: Readonly<Record<string, number>> = { MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** `Default 16 MiB.` and the like as a number. */
function defaultIn(description: string): number {
  const [, number = '', unit] = /Default ([\d,]+)(?: (MiB|GiB))?/.exec(description) ?? [];
  return Number(number.replaceAll(',', '')) * (UNITS[unit ?? ''] ?? 1);
}

describe('a limit on what a source may hold', () => {
  it('has the default that its description names', () => {
    const schema = readFileSync(join(import.meta.dirname, '../../docs/schemas/job.schema.json'), 'utf8');
    const named = Object.keys(LIMITS).map((limit) => {
      const [, description = ''] =
        new RegExp(`"${limit}": \\{[^{}]*"description": "([^"]*)"`).exec(schema) ?? [];
      return [limit, defaultIn(description)];
    });
    expect(Object.fromEntries(named)).toEqual({ ...DEFAULT_CSV_LIMITS, ...DEFAULT_SOURCE_LIMITS });
  });

  it.concurrent('is set in the job, and named with its value and where to raise it when it stops a run', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using workspace = await makeWorkspace(catalogWorkspace('http://127.0.0.1:9', CSV), {
      STORE_API_KEY: 'key',
    });
    const unnamed: string[] = [];
    const silent: string[] = [];
    const ended = Object.entries(LIMITS).map(async ([limit, { most, source }]) => {
      const file = `source-${limit}`;
      await writeFile(join(workspace.dir, file), source?.() ?? CSV);
      await workspace.write(
        `jobs/${limit}.yaml`,
        `import: products\nstore: main\nsource: { path: ${file}, limits: { ${limit}: ${most} } }\nmapping: shopify-products\n`,
      );
      const { code, stderr } = await workspace.storeferry('plan', limit, '--json');
      if (code !== 1) silent.push(limit);
      if (!stderr.includes(`limit ${limit} (${most})`) || !stderr.includes(`limits: { ${limit}: `)) {
        unnamed.push(`${limit}: ${stderr}`);
      }
    });
    await Promise.all(ended);
    expect(unnamed).toEqual([]);
    figure(context, {
      invariant: 22,
      seed: null,
      fired: { 'sources beyond a limit of their job': Object.keys(LIMITS).length },
      measured: [
        none('limits that stopped nothing', silent.length),
        none('limits not named', unnamed.length),
      ],
    });
  });
});
