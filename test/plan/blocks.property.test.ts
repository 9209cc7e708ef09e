import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { deferTables, readBlocks, type Table } from '../../src/mapping/map-tables.ts';
import type { MappingSpec } from '../../src/mapping/spec/mapping-spec.ts';
import { BlockIndex } from '../../src/model/block-index.ts';
import { isJsonObject } from '../../src/model/json-object.ts';
import type { Operation } from '../../src/model/operation.ts';
import { StoreferryError } from '../../src/model/storeferry-error.ts';
import { KeySet } from '../../src/plan/key-set.ts';
import { BLOCKS_FILE } from '../../src/plan/plan-file.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { CONTEXT, mappingOf, shippedMapping } from '../mapping/mapping-setup.ts';
import { inPieces } from '../tables/csv/open-bytes.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { type PlanMade, planOf } from './plan-of.ts';

const DAY_MS = 86_400_000;

/** A format whose records are consecutive rows, and the rows of one record, by a number that makes its key. */
interface Format {
  readonly mapping: string;
  readonly spec: MappingSpec;
  readonly resource: 'products' | 'contacts';
  readonly header: string;
  readonly record: (key: string, price: string, rows: number, odd: number) => string;
}

const CONTACTS = `
import: contacts
columns: { id: Record ID, first: First Name, last: Last Name, email: Email, city: City }
contact: { id: id, email: [email, email], name: { join: [first, last] }, city: city }
`;

/** Some records are noted, skipped, rejected or torn, and some cells have quotes, line breaks and accents in them. */
const FORMATS: readonly Format[] = [
  {
    mapping: 'shopify-products',
    spec: shippedMapping('shopify-products'),
    resource: 'products',
    header:
      'Handle,Title,Body (HTML),Option1 Name,Option1 Value,Variant Inventory Tracker,Variant Inventory Qty,Variant Price,Gift Card',
    record(key, price, rows, odd) {
      const body = odd === 1 ? `"<p>Été, ""${key}""\nwashed</p>"` : `<p>${key}</p>`;
      const [title, stock, gift] = [odd === 2 ? '' : `The ${key}`, odd === 3 ? -1 : 4, odd === 4];
      const lines = Array.from({ length: rows }, (_, row) =>
        row === 0
          ? `${key},${title},${body},Size,S${row},shopify,${stock},${odd === 5 ? 'dear' : price},${gift}`
          : `${key},,,,S${row},shopify,4,${price},`,
      );
      return `${lines.join('\n')}\n`;
    },
  },
  {
    mapping: 'squarespace-products',
    spec: shippedMapping('squarespace-products'),
    resource: 'products',
    header:
      'Product ID [Non Editable],Product Type [Non Editable],Product URL,Title,Description,SKU,Option Name 1,Option Value 1,Price,On Sale,Stock,Visible',
    record(key, price, rows, odd) {
      const about = odd === 1 ? `"Été, ""${key}""\nwashed"` : key;
      const kind = odd === 2 ? 'GIFT' : 'PHYSICAL';
      const stock = odd === 3 ? -1 : 4;
      const lines = Array.from({ length: rows }, (_, row) =>
        row === 0
          ? `${odd === 4 ? '' : key},${kind},${key},The ${key},${about},${key}-${row},Size,S${row},${price},No,${stock},Yes`
          : `,,,,,${key}-${row},,S${row},${price},No,4,`,
      );
      return `${lines.join('\n')}\n`;
    },
  },
  {
    mapping: 'contacts by id',
    spec: mappingOf(CONTACTS),
    resource: 'contacts',
    header: 'Record ID,First Name,Last Name,Email,City',
    record(key, price, _rows, odd) {
      const id = odd === 2 ? '' : String(Number.parseInt(key.replaceAll(/\D/g, ''), 10) + 1);
      const city = odd === 1 ? '"Orléans, ""Nord""\nFrance"' : `City ${price}`;
      return `${id},Ann,Lee,${odd === 3 ? 'x' : `${key}@example.com`},${city}\n`;
    },
  },
];

/** What happens to the text of a source between two runs. Places are parts of a million. */
type Edit =
  | {
      readonly kind: 'price' | 'remove' | 'repeat' | 'insert' | 'continue' | 'odd';
      readonly at: number;
      readonly to: number;
    }
  | { readonly kind: 'move'; readonly at: number; readonly to: number; readonly count: number }
  | { readonly kind: 'type'; readonly at: number; readonly text: string }
  | { readonly kind: 'cut' | 'delete'; readonly at: number }
  | { readonly kind: 'line ends'; readonly at: number; readonly end: string }
  | { readonly kind: 'delimiter'; readonly delimiter: string }
  | { readonly kind: 'encoding'; readonly encoding: 'utf8' | 'utf16le' | 'latin1' };

const part = fc.nat(999_999);
const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'price' as const,
        'remove' as const,
        'insert' as const,
        'continue' as const,
        'odd' as const,
      ),
      at: part,
      to: part,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), at: part, to: part }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('move' as const), at: part, to: part, count: fc.nat(12) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('type' as const),
      at: part,
      text: fc.constantFrom('"', '""', '\n', '\r', '\r\n', ',', ';', 'x', ' ', '"a\nb"', ',,,,\n', '\n\n'),
    }),
  },
  fc.record({ kind: fc.constantFrom('cut' as const, 'delete' as const), at: part }),
  fc.record({
    kind: fc.constant('line ends' as const),
    at: part,
    end: fc.constantFrom('\n', '\r', '\r\n'),
  }),
  fc.record({ kind: fc.constant('delimiter' as const), delimiter: fc.constantFrom(',', ';', '\t') }),
  fc.record({
    kind: fc.constant('encoding' as const),
    encoding: fc.constantFrom('utf8' as const, 'utf16le' as const, 'latin1' as const),
  }),
);

interface Source {
  readonly text: string;
  readonly delimiter: string;
  readonly encoding: 'utf8' | 'utf16le' | 'latin1';
}

function edited(source: Source, change: Edit, format: Format, number: number): Source {
  const { text } = source;
  const place = (at: number) => Math.floor((at / 1_000_000) * text.length);
  /** Where a line begins, near a place. */
  const lineAt = (at: number) => Math.max(text.indexOf('\n', place(at)) + 1, format.header.length + 1);
  const spliced = (at: number, remove: number, insert: string) => ({
    ...source,
    text: text.slice(0, at) + insert + text.slice(at + remove),
  });
  const recordOf = (odd: number) =>
    format.record(`new-${number}`, '11.00', 1 + (odd % 3), odd).replaceAll(',', source.delimiter);
  switch (change.kind) {
    case 'price': {
      const at = text.indexOf('10.00', place(change.at));
      return at < 0 ? source : spliced(at, 5, change.to % 2 === 0 ? '12.50' : '9');
    }
    case 'continue': {
      // A row more of the record above it, or of the record below it.
      const at = lineAt(change.at);
      const [key = ''] = text
        .slice(change.to % 2 === 0 ? text.lastIndexOf('\n', at - 2) + 1 : at)
        .split(source.delimiter, 1);
      return spliced(
        at,
        0,
        format.record(key, '11.00', 2, 0).replace(/^.*\n/, '').replaceAll(',', source.delimiter),
      );
    }
    case 'insert':
      return spliced(lineAt(change.at), 0, recordOf(0));
    case 'odd':
      return spliced(lineAt(change.at), 0, recordOf(1 + (change.to % 6)));
    case 'remove': {
      const at = lineAt(change.at);
      return spliced(at, Math.max(0, text.indexOf('\n', at + change.to / 5_000) + 1 - at), '');
    }
    case 'repeat': {
      const at = lineAt(change.at);
      const end = text.indexOf('\n', at + 100) + 1;
      return end === 0 ? source : spliced(lineAt(change.to), 0, text.slice(at, end));
    }
    case 'move': {
      const at = lineAt(change.at);
      const end = text.indexOf('\n', at + 50 * change.count) + 1;
      if (end === 0) return source;
      const taken = text.slice(at, end);
      return edited(
        { ...source, text: text.slice(0, at) + text.slice(end) },
        { kind: 'type', at: change.to, text: `\n${taken}` },
        format,
        number,
      );
    }
    case 'type':
      return spliced(place(change.at), 0, change.text);
    case 'delete':
      return spliced(place(change.at), 1, '');
    case 'cut':
      return { ...source, text: text.slice(0, Math.max(place(change.at), format.header.length)) };
    case 'line ends': {
      const at = lineAt(change.at);
      return { ...source, text: text.slice(0, at) + text.slice(at).replaceAll(/\r\n|\n|\r/g, change.end) };
    }
    case 'delimiter':
      return {
        ...source,
        delimiter: change.delimiter,
        text: text.replaceAll(source.delimiter, change.delimiter),
      };
    case 'encoding':
      return { ...source, encoding: change.encoding };
    default:
      return change satisfies never;
  }
}

interface RunInput {
  readonly source: Source;
  /** Two files, cut at this part. */
  readonly split: number | null;
  readonly ledger: MemoryLedger;
  readonly now: number;
  readonly mode: 'upsert' | 'mirror';
  readonly duplicates: 'reject' | 'first' | 'last' | 'merge';
  readonly lengths: readonly number[];
}

type Planned = PlanMade | string;

/** The plan, or the error with which the source is refused. */
async function planned(
  format: Format,
  input: RunInput,
  index: BlockIndex | 'none' | undefined,
): Promise<Planned> {
  const { source, ledger, now, mode, duplicates } = input;
  const counts: number[] = [];
  async function* tables(): AsyncGenerator<Table> {
    for (const [file, content] of filesOf(format, input).entries()) {
      const { encoding } = source;
      using opened = await readCsv(inPieces(content, input.lengths), {
        ...{ name: `${file}.csv`, file, delimiter: source.delimiter, blockBytes: 400 },
        encoding: encoding === 'utf8' ? undefined : encoding === 'latin1' ? 'windows-1252' : 'utf-16le',
      });
      if (opened.doubt !== null) throw opened.doubt;
      const text = { dialect: source.delimiter, pieces: opened.pieces };
      yield { header: opened.header, file, batches: opened.batches(), text };
      counts.push(opened.counts.rows, opened.counts.blankLines);
    }
  }
  const mapping = () => compileMapping(format.spec, { ...CONTEXT, now });
  const context = { context: 'context', openScratch: openRowScratch };
  const open = () =>
    readBlocks(mapping(), tables(), {
      ...{ ...context, blockBytes: 300 },
      index: index === 'none' ? undefined : index,
    });
  try {
    return await planOf({
      ...{ mapped: [], ledger, resource: format.resource, mode, duplicates },
      options: {
        openMapped: () => deferTables(mapping(), tables(), context),
        ...(index === 'none' ? {} : { blocks: { open: () => counted(open()), index: index, position: '' } }),
        describeSource: () => ({
          ...{ files: [], dates: null },
          columnsNotUsed: counts.splice(0).map(String),
        }),
      },
    });
  } catch (error) {
    if (error instanceof StoreferryError)
      return `${error.code} ${error.message} ${JSON.stringify(error.place)}`;
    throw error;
  }
}

function filesOf(format: Format, { source, split }: RunInput): Buffer[] {
  const { text, encoding } = source;
  const at = split === null ? -1 : text.indexOf('\n', Math.floor((split / 1_000_000) * text.length)) + 1;
  const header = format.header.replaceAll(',', source.delimiter);
  const texts = at <= 0 || at >= text.length ? [text] : [text.slice(0, at), `${header}\n${text.slice(at)}`];
  return texts.map((one) => Buffer.from(one, encoding));
}

function comparable(made: Planned) {
  if (typeof made === 'string') return made;
  const { plan, operations, rejections } = made;
  const { blocksPosition: _, ...rest } = plan;
  return { plan: rest, operations, rejections };
}

/** As if the store had acknowledged what the plan sends, but for one operation in seven, which it refuses. */
function acknowledge(ledger: MemoryLedger, operations: readonly Operation[], refuses: number): KeySet {
  const refused = new KeySet();
  for (const [number, operation] of operations.entries()) {
    if (number % 7 === refuses) {
      refused.add(operation.key, true);
    } else if (operation.kind === 'delete-product') {
      ledger.entries.delete(operation.key);
    } else {
      const body: unknown = JSON.parse(operation.body);
      if (isJsonObject(body)) ledger.put(operation.key, body, { job: 'nightly' });
    }
  }
  return refused;
}

function indexOf({ folder }: PlanMade, refused: KeySet): BlockIndex {
  const bytes = folder.files.get(BLOCKS_FILE) ?? Buffer.alloc(0);
  const index = new BlockIndex(new Uint32Array(new Uint8Array(bytes).buffer), 100);
  index.leaveOut((key) => refused.hasHash(key));
  return index;
}

/** Records in blocks that were not read. */
let left = 0;

async function* counted(batches: ReturnType<typeof readBlocks>): ReturnType<typeof readBlocks> {
  for await (const batch of batches) {
    for (const item of batch) if (item.kind === 'known-blocks') left += item.index.total(item).records;
    yield batch;
  }
}

describe.each(FORMATS)('runs of $mapping', (format) => {
  it('are planned with the blocks of the run before as they are without', async () => {
    left = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.integer({ min: 1, max: 4 }),
            fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) }),
          ),
          {
            minLength: 20,
            maxLength: 120,
          },
        ),
        fc.array(fc.array(edit, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
        fc.record({
          mode: fc.constantFrom('upsert' as const, 'mirror' as const),
          duplicates: fc.constantFrom('reject' as const, 'first' as const, 'last' as const, 'merge' as const),
          split: fc.option(part),
          lengths: fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 3 }),
        }),
        fc.integer({ min: 0, max: 20 }),
        async (records, edits, options, refuses) => {
          const ledger = new MemoryLedger();
          const text = records
            .map(([rows, odd], number) => format.record(`item-${number}`, '10.00', rows, odd))
            .join('');
          let source: Source = { text: `${format.header}\n${text}`, delimiter: ',', encoding: 'utf8' };
          let index: BlockIndex | undefined;
          let now = Date.parse('2026-01-01T00:00:00Z');
          let number = 0;
          for (const changes of [[], [], ...edits, []]) {
            for (const change of changes) source = edited(source, change, format, ++number);
            const input = { ...options, source, ledger, now };
            const without = await planned(format, { ...input, ledger: new MemoryLedger(ledger) }, 'none');
            const withBlocks = await planned(format, input, index);
            expect(comparable(withBlocks)).toEqual(comparable(without));
            if (typeof withBlocks === 'string') continue;
            index = indexOf(withBlocks, acknowledge(ledger, withBlocks.operations, refuses));
            now += DAY_MS;
          }
        },
      ),
      { numRuns: 12 },
    );
    expect(left).toBeGreaterThan(100);
  });
});

it('notes contacts with an emptied field, which the store keeps, in every run', async () => {
  const [, , format] = FORMATS;
  if (format === undefined) throw new Error('the contacts are the third format');
  const ledger = new MemoryLedger();
  const text = Array.from({ length: 40 }, (_, number) => format.record(`item-${number}`, '10.00', 1, 0)).join(
    '',
  );
  const plannedWith = async (rows: string, index?: BlockIndex) => {
    const source = { text: `${format.header}\n${rows}`, delimiter: ',', encoding: 'utf8' } as const;
    const rest = { split: null, now: 0, mode: 'upsert', duplicates: 'reject', lengths: [900] } as const;
    const made = await planned(format, { source, ledger, ...rest }, index);
    if (typeof made === 'string') throw new Error(made);
    return { made, index: indexOf(made, acknowledge(ledger, made.operations, -1)) };
  };
  await plannedWith(text);
  const emptied = text.replaceAll(/City 10.00/g, '');
  let { made, index } = await plannedWith(emptied);
  expect(made.plan.emptied).toEqual([{ field: 'city', records: 40 }]);
  ({ made, index } = await plannedWith(emptied, index));
  expect(made.plan.emptied).toEqual([{ field: 'city', records: 40 }]);
});
