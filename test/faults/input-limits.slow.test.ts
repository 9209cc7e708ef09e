import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { LIMIT_WORDS, type LimitName, raiseLimit } from '../../src/model/input-limits.ts';
import { makeZip } from '../source/make-zip.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { type CommandResult, makeWorkspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import { SCALE } from './scale.ts';

const CSV = shopifyCatalog(manyProducts(20));
const LARGE = `${CSV}${'mug,Mug,,,,,,,,,1.00,,,,\n'.repeat(3_000_000)}`;
const ZIP = makeZip(['a.csv', 'bb.csv'].map((name) => ({ name, content: CSV })));
const MUGS = 'Name,Size,Option1,Values1\nmug,S,Size,S;M\nmug,M,,\n';
const IDS = 'id,email\n7,ann@mail.example\n8,bob@mail.example\n';
const MERGED = makeXlsx([
  {
    name: 'S',
    rows: [
      ['Name', 'Size'],
      ['mug', 'S'],
      [null, 'M'],
    ],
    merged: ['A2:A3'],
  },
]);
const PATTERN = '[xyz]{1,9}';

const PRICED = 'variants: { pricing: { price: { const: 1 } } }\n';
const MAPPINGS: Readonly<Record<string, string>> = {
  grouped: `import: products\ncolumns: { name: Name, size: Size }\ngroup: { by: name, rows: adjacent }\nproduct: { url: name, title: name }\noptions: { columns: { Size: size } }\n${PRICED}`,
  combined: `import: products\ncolumns: { name: Name, 'option{n}': 'Option{n}', 'values{n}': 'Values{n}' }\nproduct: { url: name, title: name }\noptions: { names: 'option{n}', values: 'values{n}', listed: ['values{n}', { split: ; }], combine: true }\nvariants: { rows: { name: blank }, pricing: { price: { const: 1 } } }\n`,
  patterned: `import: products\ncolumns: { name: Name }\nproduct: { url: name, title: [name, { replace: '${PATTERN}', with: '' }] }\n${PRICED}`,
  'looked-up': `import: products\ncolumns: { name: Name }\nlookups: { ids: { path: ids.csv, match: email } }\nproduct: { url: name, title: [name, { table: ids, column: id, otherwise: keep }] }\n${PRICED}`,
  people: 'import: contacts\ncolumns: { email: email, note: note }\ncontact: { email: email, note: note }\n',
};
const MERGING = 'duplicates: merge\ncrosswalk: { path: ids.csv, match: email }\n';

/** A file that is beyond a limit of its job. */
interface Nasty {
  readonly source?: string | Uint8Array;
  /** One of MAPPINGS; left out, the source is a catalog of Shopify. */
  readonly mapping?: keyof typeof MAPPINGS;
  /** What else the job says. */
  readonly more?: string;
  /** The lowest value that lets the file through; null where no round figure is. */
  readonly enough: number | null;
  /** The first value below that, where it is not one less. */
  readonly below?: number;
  /** Records are rejected, and the run goes on. */
  readonly rejects?: true;
  /** The mapping itself is beyond it: refused before a run begins. */
  readonly configures?: true;
}

const people = { mapping: 'people', more: MERGING } as const;
const longest = (parts: readonly string[]) => Math.max(...parts.map((part) => Buffer.byteLength(part)));

const NASTY: Readonly<Record<LimitName, Nasty>> = {
  rowBytes: { enough: longest(CSV.split('\n')) },
  cellBytes: { enough: longest(CSV.split(/[,\n]/)) },
  rows: { enough: 20 },
  columns: { enough: longest(CSV.split('\n').map((row) => row.replaceAll(/[^,]/g, ''))) + 1 },
  mergedCells: { source: MERGED, mapping: 'grouped', enough: 2 },
  headerBytes: { source: MUGS, mapping: 'grouped', enough: 'Option1'.length },
  bytes: { enough: Buffer.byteLength(CSV) },
  ratio: { source: gzipSync(LARGE), enough: null, below: 10 },
  fileCount: { source: ZIP, more: 'duplicates: first\n', enough: 2 },
  pathBytes: { source: ZIP, more: 'duplicates: first\n', enough: 'bb.csv'.length },
  crosswalkRows: { ...people, source: 'email,note\nann@mail.example,1\n', enough: 2 },
  lookupRows: { source: MUGS, mapping: 'looked-up', more: 'duplicates: first\n', enough: 2 },
  patternLength: {
    source: MUGS,
    mapping: 'patterned',
    more: 'duplicates: first\n',
    enough: PATTERN.length,
    configures: true,
  },
  recordRows: { source: MUGS, mapping: 'grouped', enough: 2, rejects: true },
  combinations: { source: MUGS.replace('mug,M,,\n', ''), mapping: 'combined', enough: 2, rejects: true },
  mergedCopies: {
    ...people,
    source: 'email,note\nann@mail.example,1\nann@mail.example,2\n',
    enough: 2,
    rejects: true,
  },
};

/** What a message says is found, whatever the figures. */
function wording(limit: LimitName): RegExp {
  const escaped = LIMIT_WORDS[limit].found.replaceAll(/[.?]/g, '\\$&').replaceAll(/\{\w+\}/g, '\\d+');
  return new RegExp(escaped);
}

const NAMES = Object.keys(NASTY).filter((name): name is LimitName => Object.hasOwn(LIMIT_WORDS, name));

describe('a limit on what an import takes in', () => {
  it('lets through what just keeps to it, stops what does not, and says which it was, where, and how to raise it', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const mappings = Object.entries(MAPPINGS).map(([name, text]) => [`mappings/${name}.yaml`, text]);
    await using workspace = await makeWorkspace(
      {
        ...catalogWorkspace('http://127.0.0.1:9', CSV),
        ...Object.fromEntries(mappings),
        'ids.csv': IDS,
        'mappings/ids.csv': IDS,
      },
      { STORE_API_KEY: 'key' },
    );
    const plan = async (limit: LimitName, most: number, kind: string) => {
      const { source, mapping = 'shopify-products', more = '' } = NASTY[limit];
      const file = `${limit}-${kind}.csv`;
      await writeFile(join(workspace.dir, file), source ?? CSV);
      await workspace.write(
        `jobs/${limit}-${kind}.yaml`,
        `import: ${mapping === 'people' ? 'contacts' : 'products'}\nstore: main\nsource: { path: ${file} }\nmapping: ${mapping}\nlimits: { ${limit}: ${most} }\nsafety: { maxRejects: off }\n${more}`,
      );
      return await workspace.storeferry('plan', `${limit}-${kind}`, '--json');
    };

    const rejectsOf = ({ json }: CommandResult) =>
      readFile(join(workspace.dir, String(json()['rejectsFile'])), 'utf8');

    const silent: string[] = [];
    const unexplained: string[] = [];
    const strict: string[] = [];
    for (const limit of NAMES) {
      const { enough, below = (enough ?? 0) - 1, rejects, configures } = NASTY[limit];
      const [beyond, within] = await Promise.all([
        plan(limit, below, 'beyond'),
        enough === null ? null : plan(limit, enough, 'within'),
      ]);
      if (beyond.code !== (rejects ? 3 : configures ? 2 : 1))
        silent.push(`${limit}: ${beyond.code} ${beyond.stderr}`);
      const said = rejects === true ? await rejectsOf(beyond) : beyond.stderr;
      const expected = [`limit ${limit} (${below})`, raiseLimit(limit)];
      if (!expected.every((text) => said.includes(text)) || !wording(limit).test(said)) {
        unexplained.push(`${limit}: ${said}`);
      }
      if (within !== null && within.code !== 0) strict.push(`${limit}: ${within.stderr}${within.stdout}`);
    }
    expect({ silent, unexplained, strict }).toEqual({ silent: [], unexplained: [], strict: [] });
    figure(context, {
      invariant: 22,
      seed: null,
      fired: { 'sources beyond a limit of their job': NAMES.length },
      measured: [
        none('limits that stopped nothing', silent.length),
        none('limits not explained', unexplained.length),
        none('limits that stopped what keeps to them', strict.length),
      ],
    });
  });
});
