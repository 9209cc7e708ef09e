import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import type { CommandResult } from '../support/workspace.ts';
import { SCALE } from './scale.ts';
import { watchedCommand } from './watched-command.ts';

const MIB = 1024 ** 2;
const MOST_RSS_MIB = 512;
/** Of a quiet machine's processor: a slower one takes longer for the same work. */
const MOST_DELAY_MS = patience(200);
/** A measured time beyond its bound is measured again so often: the least counts. */
const MORE_ROUNDS = 4;
const HEADER = 'Handle,Title,Body (HTML),Variant Price\n';

interface Hostile {
  readonly fault: string;
  /** The source, in pieces. */
  readonly source: () => Iterable<string | Uint8Array>;
  readonly file?: string;
  readonly mapping?: string;
  readonly limits?: string;
  readonly expected: (ended: CommandResult) => void;
}

function* ordinaryRows(count: number): Generator<string> {
  yield HEADER;
  const body = 'A mug of stoneware fired twice. '.repeat(6);
  for (let first = 0; first < count; first += 1_000) {
    const rows = Math.min(1_000, count - first);
    yield Array.from({ length: rows }, (_, index) => `mug-${first + index},Mug,${body},9.50\n`).join('');
  }
}

/** A gzip file of several members: what is the same is packed once. */
function* packed(...parts: readonly (readonly [content: string, times: number])[]): Generator<Uint8Array> {
  for (const [content, times] of parts) {
    const member = gzipSync(content, { level: 9 });
    for (let time = 0; time < times; time++) yield member;
  }
}

const EVIL_MAPPING = `
import: products
columns: { handle: Handle, title: Title, body: Body (HTML), price: Variant Price }
product:
  url: handle
  title: title
  description: [body, { replace: '^(a+)+$', with: '' }, { replace: '(.*a){12}x', with: '' }]
variants: { pricing: { price: price } }
`;

const SOURCES: readonly Hostile[] = [
  {
    fault: `${SCALE.rows} rows`,
    source: () => ordinaryRows(SCALE.rows),
    expected: ({ json }) => expect(json()).toMatchObject({ rows: SCALE.rows, rejected: 0 }),
  },
  {
    fault: `a cell of ${SCALE.cellMib} MiB`,
    file: 'catalog.csv.gz',
    limits: 'limits: { ratio: 1000000 }\n',
    source: () => packed([`${HEADER}mug,Mug,"`, 1], ['a'.repeat(MIB), SCALE.cellMib], ['",9.50\n', 1]),
    expected: ({ stderr }) => expect(stderr).toContain('limit'),
  },
  {
    fault: `a gzip bomb of ${SCALE.bombGib} GiB`,
    file: 'catalog.csv.gz',
    source: () => packed([HEADER, 1], ['a'.repeat(16 * MIB), SCALE.bombGib * 64]),
    expected: ({ stderr }) => expect(stderr).toContain('limit ratio'),
  },
  {
    fault: 'evil patterns over cells of 50 000 characters',
    mapping: EVIL_MAPPING,
    source: () => [
      HEADER,
      ...Array.from({ length: 20 }, (_, row) => `mug-${row},Mug,${'a'.repeat(50_000)}!,9.50\n`),
    ],
    expected: ({ json }) => expect(json()).toMatchObject({ rows: 20, new: 20 }),
  },
];

// In the soak one at a time, since the clock is looked at as well.
describe('a source that could exhaust the process', { concurrent: !SCALE.isSoak }, () => {
  it.for(SOURCES)(
    'is planned or refused within its bounds: $fault',
    { timeout: SCALE.patienceMs },
    async (hostile, context) => {
      const { fault, source, file = 'catalog.csv', mapping, limits = '', expected } = hostile;
      const job = `import: products\nstore: main\nsource: { path: ${file} }\n${limits}mapping: ${mapping === undefined ? 'shopify-products' : 'own'}\n`;
      const plan = async () =>
        await watchedCommand(
          {
            ...catalogWorkspace('http://127.0.0.1:9', ''),
            'jobs/nightly.yaml': job,
            ...(mapping === undefined ? {} : { 'mappings/own.yaml': mapping }),
          },
          { STORE_API_KEY: 'key' },
          async (dir) => pipeline(Readable.from(source()), createWriteStream(join(dir, file))),
          'plan',
          'nightly',
          '--json',
        );
      const { ended, watched } = await plan();
      expected(ended);
      let { loopWorkMs } = watched;
      // What else the machine does only adds to it: processors share their caches and units.
      for (let again = 0; again < MORE_ROUNDS && loopWorkMs > MOST_DELAY_MS; again += 1)
        loopWorkMs = Math.min(loopWorkMs, (await plan()).watched.loopWorkMs);
      figure(context, {
        invariant: 22,
        seed: null,
        fired: { [fault]: 1 },
        measured: [
          atMost(MOST_RSS_MIB, 'peak memory, MiB', Math.round(watched.maxRssMib)),
          atMost(MOST_DELAY_MS, 'p99.9 of event-loop delay, ms of its own work', Math.round(loopWorkMs)),
          // A time limit is only meaningful on an idle machine.
          ...(SCALE.isSoak
            ? [atMost(MOST_DELAY_MS, 'p99.9 of event-loop delay, ms', Math.round(watched.loopDelayMs))]
            : []),
        ],
      });
    },
  );
});
