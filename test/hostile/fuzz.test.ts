import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseYaml } from '../../src/config/yaml-file.ts';
import { StoreferryError } from '../../src/model/storeferry-error.ts';
import { lookAtSource } from '../../src/onboarding/preview-source.ts';
import { readAnswer } from '../../src/storefront/exchange.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { makeZip } from '../source/make-zip.ts';
import { patience } from '../support/pace.ts';
import { seedOf } from '../support/seed.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import { HOSTILE_ANSWERS, HOSTILE_YAML } from './corpus.ts';
import { watchTurns } from './measure-turns.ts';

/** A budget for each kind of content; `test/hostile/corpus.ts` keeps what is found. */
const RUNS = 60;
const MAX_TURN_MS = 1_000;
const MAX_CPU_RATIO = 20;

const count = fc.oneof(fc.nat({ max: 5 }), fc.constantFrom(100, 255, 1_000, 20_000));
const word = fc.constantFrom(
  '',
  'a',
  '0',
  '-1',
  '1e999',
  'Handle',
  'Variant Price',
  '__proto__',
  '\u0000',
  '\ud800',
  '"',
  '<',
  '&amp;',
  '&x;',
  ']]>',
  '=1+1',
  '٣',
  'İ',
);
const texts = fc.tuple(word, count).map(([text, times]) => repeated(text, times).slice(0, 20_000));

const MAX_LENGTH = 100_000;

function repeated(text: string, times: number): string {
  return text.repeat(Math.min(times, Math.ceil(MAX_LENGTH / Math.max(1, text.length))));
}

/** A piece, repeated or nested within others. */
function grown(piece: fc.Arbitrary<string>, [open, close]: readonly [open: string, close: string]) {
  return fc.oneof(
    fc.tuple(piece, count).map(([text, times]) => repeated(text, times)),
    fc.tuple(piece, count).map(([text, times]) => open.repeat(times) + text + close.repeat(times)),
  );
}

function cutOrWhole(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(text, fc.option(fc.nat({ max: 30_000 })))
    .map(([all, end]) => all.slice(0, end ?? MAX_LENGTH));
}

const cell = fc.oneof(
  texts,
  texts.map((text) => `"${text}"`),
  texts.map((text) => `"${text}`),
);
const csv = cutOrWhole(
  fc
    .tuple(
      fc.array(cell, { maxLength: 6 }),
      fc.constantFrom(',', ';', '\t', '|', ' '),
      count,
      fc.constantFrom('\n', '\r', '\r\n', ''),
    )
    .map(
      ([cells, delimiter, times, end]) =>
        `Handle,Title\n${repeated(`${cells.join(delimiter)}${end}`, times)}`,
    ),
);
const json = cutOrWhole(
  grown(
    fc.oneof(
      texts.map((text) => JSON.stringify(text)),
      fc.constantFrom('{}', '[]', '1e999', '{"Handle":1}', '{"a":[{"b":1}]},', 'null', ','),
    ),
    ['{"a":[', ']}'],
  ).map((text) => `[${text}]`),
);
const attribute = fc
  .tuple(
    fc.constantFrom(
      'r',
      'xmlns:g',
      'table:number-columns-repeated',
      'table:number-rows-spanned',
      'ref',
      't',
      's',
    ),
    fc.oneof(texts, fc.constantFrom('XFD1048576', 'A1:XFD9', '16384', '1048576', '-1')),
  )
  .map(([name, value]) => ` ${name}="${value.replaceAll(/["<&]/g, '')}"`);
const element = fc
  .tuple(
    fc.constantFrom(
      'row',
      'c',
      'v',
      'is',
      't',
      'f',
      'mergeCell',
      'item',
      'g:id',
      'table:table-row',
      'table:table-cell',
      'text:p',
      'text:s',
    ),
    fc.uniqueArray(attribute, { maxLength: 3, selector: (text) => text.split('=')[0] }),
    texts,
  )
  .map(([name, attributes, text]) => `<${name}${attributes.join('')}>${text.replaceAll('<', '')}</${name}>`);
const elements = grown(
  fc.array(element, { maxLength: 8 }).map((all) => all.join('')),
  ['<row>', '</row>'],
);
const xml = cutOrWhole(elements.map((all) => `<rss><channel>${all}</channel></rss>`));
const xlsx = elements.map((all) =>
  makeXlsx([{ name: 'S', rows: [['Handle'], ['a']] }], {
    more: {
      'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${all.slice(0, MAX_LENGTH)}</sheetData></worksheet>`,
    },
  }),
);
const ods = elements.map((all) =>
  makeZip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet', stored: true },
    {
      name: 'content.xml',
      content: `<office:document-content><table:table table:name="S"><table:table-row><table:table-cell office:value-type="string"><text:p>Handle</text:p></table:table-cell></table:table-row>${all.slice(0, MAX_LENGTH)}</table:table></office:document-content>`,
    },
  ]),
);
const yaml = cutOrWhole(
  fc.oneof(
    grown(
      fc.constantFrom(
        'a: 1\n',
        '- *a\n',
        '&a [1]\n',
        '<<: *a\n',
        '? ',
        '!!js/function x\n',
        "'",
        '|\n  x\n',
        '%YAML 1.2\n---\n',
      ),
      ['[', ']'],
    ),
    count.map(
      (times) =>
        `a0: &a0 [x, x]\n${Array.from({ length: Math.min(times, 200) }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]\n`).join('')}`,
    ),
  ),
);

describe('generated content', { timeout: patience(600_000) }, () => {
  const KINDS: Readonly<Record<string, fc.Arbitrary<string | Uint8Array>>> = { csv, json, xml, xlsx, ods };
  beforeAll(() => lookAt('a.json', '[{"Handle":1}]'));

  it.for(Object.entries(KINDS))(
    'is read or refused with a reason, in turns: %s',
    async ([kind, content], context) => {
      const property = fc.asyncProperty(content, async (text) => {
        const usage = watchTurns();
        await lookAt(`a.${kind}`, text);
        expect(usage().longestTurnMs).toBeLessThan(patience(MAX_TURN_MS));
      });
      await fc.assert(property, { numRuns: RUNS, seed: seedOf(context) });
    },
  );

  // One turn, whose length is that of the file: the owner of the workspace wrote it.
  it('is read or refused as YAML, in no more than 20 times the time of an ordinary file of its size', async (context) => {
    const parse = (text: string) => {
      const usage = watchTurns();
      parseYaml(text, 'a.yaml');
      return usage();
    };
    const property = fc.property(yaml, (text) => {
      const lines = Math.max(100, text.length / 14);
      const ordinary = Array.from({ length: lines }, (_, index) => `key${index}: value\n`).join('');
      // The work is the same each time; a collection of V8 or a compilation falls into one of them.
      const excesses = Array.from({ length: 5 }, () => {
        const { cpuMs } = parse(ordinary);
        const hostile = parse(text);
        return { ratio: hostile.cpuMs / cpuMs, turnMs: hostile.longestTurnMs };
      });
      expect(Math.min(...excesses.map(({ ratio }) => ratio))).toBeLessThan(MAX_CPU_RATIO);
      expect(Math.min(...excesses.map(({ turnMs }) => turnMs))).toBeLessThan(patience(MAX_TURN_MS));
    });
    await fc.assert(property, { numRuns: RUNS, seed: seedOf(context) });
  });
});

it.each(Object.keys(HOSTILE_YAML))('a configuration is judged within one turn: %s', (name) => {
  const usage = watchTurns();
  parseYaml(HOSTILE_YAML[name]?.() ?? '', 'a.yaml');
  expect(usage().longestTurnMs).toBeLessThan(patience(MAX_TURN_MS));
});

it.each(Object.keys(HOSTILE_ANSWERS))('an answer of a store is judged within one turn: %s', (name) => {
  const body = HOSTILE_ANSWERS[name]?.() ?? '';
  for (const status of [200, 422, 502]) {
    const usage = watchTurns();
    readAnswer(
      { status, body, retryAfter: undefined, location: undefined },
      { apiKey: 'key', now: 0, expected: undefined },
    );
    expect(usage().longestTurnMs).toBeLessThan(patience(MAX_TURN_MS));
  }
});

async function lookAt(name: string, content: string | Uint8Array): Promise<void> {
  await using workspace = await workspaceWith({ [name]: content });
  await refusedOr(() => lookAtSource(`${workspace.workspaceDir}/${name}`));
}

/** Anything but an error of the family is a fault. */
async function refusedOr(read: () => Promise<unknown>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!(error instanceof StoreferryError)) throw error;
  }
}
