import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mappingSchema } from '../../src/mapping/spec/mapping-spec.ts';
import type { Value } from '../../src/mapping/spec/value.ts';
import { PLAIN_NUMBER, readNumber } from '../../src/mapping/transforms/read-number.ts';
import { slugify } from '../../src/mapping/transforms/slug.ts';
import type { Transform } from '../../src/mapping/transforms/transforms.ts';
import { mapAll, table } from './mapping-setup.ts';

/** What a value gives for a cell: the text sent, a list, undefined for a blank, or the code of the rejection. */
async function gives(cell: string, value: Value, field: 'description' | 'images' = 'description') {
  const spec = mappingSchema.parse({
    import: 'products',
    columns: { cell: 'Cell', other: 'Other', n: 'N' },
    params: { base: 'https://img.example/', unset: '', sign: ',' },
    product: { url: 'n', title: 'n', [field]: value, type: { is: { digital: { other: 'x' } } } },
    variants: {
      pricing: { price: 1 },
      sku: { join: ['{base}', '{unset}', ['n', { replace: ',', with: '{sign}' }]] },
      quantity: { value: 1, when: { cell: 'present' } },
    },
  });
  const { mapped } = await mapAll(spec, [table(['Cell', 'Other', 'N'], [[cell, '', 'u']])]);
  const [first] = mapped;
  if (first?.kind === 'record') {
    return 'variants' in first.body ? first.body[field] : undefined;
  }
  return first?.reason.code;
}

/** What the transforms make of a cell. */
const through = (cell: string, ...transforms: readonly Transform[]) => gives(cell, ['cell', ...transforms]);

describe('transforms of text', () => {
  it.each<[string, string, readonly Transform[], unknown]>([
    ['cells are trimmed, of no-break spaces and byte order marks too', '\ufeff\u00a0 a b ', [], 'a b'],
    ['a blank is nothing', ' \u00a0', [], undefined],
    ['trim takes off characters', '##a#b#', [{ trim: '#' }], 'a#b'],
    ['trim may leave nothing', '##', [{ trim: '#' }], undefined],
    ['squeeze makes one blank of many', 'a \n\t b', ['squeeze'], 'a b'],
    ['lower', 'ÀB', ['lower'], 'àb'],
    ['upper', 'àb', ['upper'], 'ÀB'],
    ['unquote takes off an apostrophe', "'30235", ['unquote'], '30235'],
    ['unquote takes off a formula', '="0012"', ['unquote'], '0012'],
    ['unquote leaves a lone quote', '5" pipe', ['unquote'], '5" pipe'],
    ['start counts characters, not code units', '😀😀a', [{ start: 2 }], '😀😀'],
    ['replace replaces every match', 'a-b-c', [{ replace: '-', with: '+' }], 'a+b+c'],
    ['replace knows groups', 'ab', [{ replace: '(a)(b)', with: '$2$1' }], 'ba'],
    ['replace takes a param', 'a-b', [{ replace: '-', with: '{sign}' }], 'a,b'],
    ['extract gives the first group', 'x:Red', [{ extract: ':(.*)$' }], 'Red'],
    ['extract gives the match without a group', 'ab12', [{ extract: '[0-9]+' }], '12'],
    ['extract without a match gives nothing', 'abc', [{ extract: '[0-9]+' }], undefined],
    [
      'template knows value, columns and params',
      'a.jpg',
      [{ template: '{base}{value}?{n}' }],
      'https://img.example/a.jpg?u',
    ],
    ['template fills an unset param with nothing', 'a', [{ template: '{unset}{value}' }], 'a'],
    ['template with a blank column gives nothing', 'a', [{ template: '{value}{other}' }], undefined],
    ['default fills a blank', '', [{ default: 'x' }], 'x'],
    ['default leaves what is there', 'a', [{ default: 'x' }], 'a'],
    ['html keep', '<b>a</b>', [{ html: 'keep' }], '<b>a</b>'],
    [
      'html strip leaves the text',
      '<p>a &amp; b</p><p>c<script>x()</script></p>',
      [{ html: 'strip' }],
      'a & b\nc',
    ],
    [
      'html sanitize takes off what may do harm',
      '<p onclick="x()">a<script>x()</script><a href="javascript:x()">b</a><iframe src="//x"></iframe></p>',
      [{ html: 'sanitize' }],
      '<p>a<a>b</a></p>',
    ],
    ['html decode', 'Tom &amp; J&#233;r&ocirc;me', [{ html: 'decode' }], 'Tom & Jérôme'],
    ['html escape makes paragraphs', 'a < b\nc\n\nd', [{ html: 'escape' }], '<p>a &lt; b<br>c</p><p>d</p>'],
    ['lookup is loose in case', 'ROT', [{ lookup: { rot: 'red' } }], 'red'],
    ['lookup of another word is blank', 'blau', [{ lookup: { rot: 'red' } }], undefined],
    ['lookup may keep others', 'blau', [{ lookup: { rot: 'red' }, otherwise: 'keep' }], 'blau'],
    ['lookup may reject others', 'blau', [{ lookup: { rot: 'red' }, otherwise: 'reject' }], 'word-unknown'],
    ['lookup of null is blank', 'none', [{ lookup: { none: null, a: 'b' } }], undefined],
    ['a list is joined', 'a, ,b', [{ split: ',' }, { join: ' | ' }], 'a | b'],
    ['an escaped separator stays', 'a\\, b, c', [{ split: ', ', escape: '\\' }, { join: '|' }], 'a, b|c'],
    ['several separators', 'a;b\nc', [{ split: [';', '\n'] }, { join: '|' }], 'a|b|c'],
    ['transforms of text work on each item', 'A,B', [{ split: ',' }, 'lower', { join: '|' }], 'a|b'],
    [
      'quotes hold separators',
      '"VIP, gold","say ""hi""",plain, 6" pot',
      [{ split: ',', quote: '"' }, { join: '|' }],
      'VIP, gold|say "hi"|plain|6" pot',
    ],
    ['a cell of separators is blank', ' ; ;', [{ split: ';' }, { join: '|' }, { default: 'none' }], 'none'],
    ['an e-mail address', ' Ann@Mail.Example', ['email'], 'ann@mail.example'],
    ['an e-mail address with a name', 'Ann Lee <ANN@mail.example>', ['email'], 'ann@mail.example'],
    [
      'an e-mail address with a decomposed letter',
      'Rene\u0301@mail.example',
      ['email'],
      'ren\u00e9@mail.example',
    ],
    ['an e-mail address in full width', '\uff21nn\uff20mail\uff0eexample', ['email'], 'ann@mail.example'],
    ['an e-mail address as a link', 'mailto:ann@mail.example', ['email'], 'ann@mail.example'],
    ['unique', 'a,b,a', [{ split: ',' }, 'unique', { join: '|' }], 'a|b'],
  ])('%s', async (_name, cell, transforms, expected) => {
    expect(await through(cell, ...transforms)).toEqual(expected);
  });

  it('become an empty one, which clears the field, only where a mapping names it for a word', async () => {
    expect(await gives('none', ['cell', { lookup: { none: '' } }])).toBe('');
  });
});

describe('transforms to numbers', () => {
  it.each<[string, Transform, unknown]>([
    ['19.99', 'number', '19.99'],
    ['-5', 'number', '-5'],
    ['007', 'number', '7'],
    ['1,299.00', 'number', '1299'],
    ['1 299.00', 'number', '1299'],
    ['1,299', 'number', 'number-ambiguous'],
    ['12,50', 'number', 'not-a-number'],
    ['1e3', 'number', 'not-a-number'],
    ['Infinity', 'number', 'not-a-number'],
    ['0x10', 'number', 'not-a-number'],
    ['12345678901234567890', 'number', 'not-a-number'],
    ['1234567890123456', 'number', 'not-a-number'],
    ['123456789012345', 'number', '123456789012345'],
    // Of binary fractions in databases and JSON.
    ['0.30000000000000004', 'number', '0.3'],
    ['19.999999999999996', 'number', '20'],
    ['-1.1500000000000001', 'number', '-1.15'],
    ['19,999999999999996', { number: { decimal: ',' } }, '20'],
    ['1.2345678901234567', { number: { decimal: '.', currency: 'strip' } }, '1.23456789012346'],
    ['84.0336134453781513', 'number', '84.0336134453782'],
    ['840,336134453781513', { number: { decimal: ',' } }, '840.336134453781'],
    ['1299.50000000000000000', 'number', '1299.5'],
    ['1.2.3', 'number', 'not-a-number'],
    ['--1', 'number', 'not-a-number'],
    ['۱۲۳٫۵', 'number', '123.5'],
    ['１，２００．５円', { number: { decimal: '.', thousands: ',', currency: 'strip' } }, '1200.5'],
    ['12,50', { number: { decimal: ',' } }, '12.5'],
    ['1.299,00', { number: { decimal: ',' } }, '1299'],
    ['1.299', { number: { decimal: ',' } }, 'number-ambiguous'],
    ['1.299', { number: { decimal: ',', thousands: '.' } }, '1299'],
    ['1.234.567', { number: { decimal: ',' } }, '1234567'],
    ['12,34,567', { number: { decimal: '.', thousands: ',' } }, 'not-a-number'],
    ['12,50', { number: { decimal: '{sign}' } }, '12.5'],
    ['12,50', { number: { decimal: 'auto' } }, '12.5'],
    ['12.50', { number: { decimal: 'auto' } }, '12.5'],
    ['1.299,50', { number: { decimal: 'auto' } }, '1299.5'],
    ['1,299.50', { number: { decimal: 'auto' } }, '1299.5'],
    ['1,299', { number: { decimal: 'auto' } }, 'number-ambiguous'],
    ['0.125', { number: { decimal: 'auto' } }, '0.125'],
    ['1.250', { number: { decimal: 'either' } }, '1.25'],
    ['1,250', { number: { decimal: 'either' } }, '1.25'],
    ['352 AED', { number: { currency: 'strip' } }, '352'],
    ['AED 352', { number: { currency: 'strip' } }, '352'],
    ['$1,299.00', { number: { currency: 'strip' } }, '1299'],
    ['-$5', { number: { currency: 'strip' } }, '-5'],
    ['1.299,00 €', { number: { currency: 'strip', decimal: ',' } }, '1299'],
    ['Rs. 50', { number: { currency: 'strip' } }, '50'],
    ['.5', 'number', '0.5'],
    ['-.25', 'number', '-0.25'],
    [',5', { number: { decimal: ',' } }, '0.5'],
    [',5', { number: { decimal: 'auto' } }, '0.5'],
    ['.500', { number: { decimal: 'auto' } }, '0.5'],
    ['.', 'number', 'not-a-number'],
    ['-', 'number', 'not-a-number'],
    ['$.50', { number: { currency: 'strip' } }, '0.5'],
    ['15 zł', { number: { currency: 'strip' } }, '15'],
    ['R$ 15,90', { number: { currency: 'strip', decimal: ',' } }, '15.9'],
    ['$15.00 CAD', { number: { currency: 'strip' } }, '15'],
    ['15 eur', { number: { currency: 'strip' } }, '15'],
    ['off 10', { number: { currency: 'strip' } }, 'not-a-number'],
    ['10 off', { number: { currency: 'strip' } }, 'not-a-number'],
    ['from 10', { number: { currency: 'strip' } }, 'not-a-number'],
    ['try 10', { number: { currency: 'strip' } }, 'not-a-number'],
    ['EUR 10 USD', { number: { currency: 'strip' } }, 'not-a-number'],
    ['10 pcs', { number: { currency: 'strip', otherwise: 'blank' } }, undefined],
    ['Rp 15.000', { number: { currency: 'strip' } }, 'number-ambiguous'],
    ['Rp 15.000', { number: { currency: 'strip', decimal: 'auto' } }, 'number-ambiguous'],
    ['15.000', { number: { currency: 'strip' } }, 'number-ambiguous'],
    ['0.125 EUR', { number: { currency: 'strip' } }, '0.125'],
    ['Rp 15.000', { number: { currency: 'strip', decimal: ',', thousands: '.' } }, '15000'],
    ['15,000 EUR', { number: { currency: 'strip', decimal: ',', thousands: '.' } }, 'number-ambiguous'],
    ['1.250 KWD', { number: { currency: 'strip' } }, '1.25'],
    ['10¢', { number: { currency: 'strip' } }, 'not-a-number'],
    ['¤10', { number: { currency: 'strip' } }, 'not-a-number'],
    ['1,500 EUR', { number: { currency: 'strip' } }, 'number-ambiguous'],
    ['1,500 KWD', { number: { currency: 'strip' } }, 'number-ambiguous'],
    ['1.250 KWD', { number: { currency: 'strip', decimal: ',' } }, 'number-ambiguous'],
    ['1.250', { number: { currency: 'KWD' } }, '1.25'],
    ['5 EUR', { number: { currency: 'EUR' } }, '5'],
    ['5 USD', { number: { currency: 'EUR' } }, 'currency-differs'],
    ['5', { number: { currency: 'EUR' } }, '5'],
    ['5 EUR', 'number', 'not-a-number'],
    ['abc', { number: { otherwise: 'blank' } }, undefined],
    ['20.0', 'integer', '20'],
    ['20.5', 'integer', 'not-an-integer'],
    ['1.000', 'integer', 'number-ambiguous'],
    ['0.125', 'integer', 'not-an-integer'],
    ['1.000', { integer: { otherwise: 'blank' } }, undefined],
    ['1.000', { number: { thousands: 'other' } }, 'number-ambiguous'],
    ['1,000', { number: { thousands: 'other' } }, '1000'],
    ['100 ML', { integer: { otherwise: 'blank' } }, undefined],
    ['20.5', { integer: { otherwise: 'blank' } }, undefined],
  ])('%s through %j is %s', async (cell, transform, expected) => {
    expect(await through(cell, transform)).toEqual(expected);
  });

  it.each(['ann', 'ann@', 'a b@mail.example', 'ann@mail.example; bob@mail.example', '+44 117 496 0182'])(
    'take %s for no e-mail address',
    async (cell) => {
      expect(await through(cell, 'email')).toBe('not-an-email');
    },
  );

  it('read every number that a program writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 0, max: 4 }), (units, digits) => {
        const value = units / 10 ** digits;
        return readNumber(value.toFixed(digits), PLAIN_NUMBER, String) === value;
      }),
    );
  });

  it('raises and lowers, and notes it', async () => {
    const spec = mappingSchema.parse({
      import: 'products',
      columns: { cell: 'Cell' },
      product: { url: 'cell', title: 'cell' },
      variants: { pricing: { price: 1 }, quantity: ['cell', 'integer', { min: 0 }, { max: 10 }] },
    });
    const { mapped } = await mapAll(spec, [table(['Cell'], [['-3'], ['5'], ['11']])]);
    expect(mapped.map((one) => (one.kind === 'record' ? one.notes : []))).toEqual([
      ['variants.quantity: below 0, raised to 0'],
      undefined,
      ['variants.quantity: above 10, lowered to 10'],
    ]);
  });
});

describe('transforms to yes and no', () => {
  it.each([
    ['TRUE', 'true'],
    ['no', 'false'],
    ['1', 'true'],
    ['maybe', 'not-a-boolean'],
    ['WAHR', 'true'],
    ['FALSCH', 'false'],
    ['VRAI', 'true'],
    ['FAUX', 'false'],
    ['VERDADERO', 'true'],
    ['FALSO', 'false'],
    ['FA\u0141SZ', 'false'],
    ['ИСТИНА', 'true'],
    ['na\u0303o', 'false'],
    ['s\u00ed', 'true'],
    ['HAYIR', 'false'],
    ['DOĞRU', 'true'],
  ])('%s is %s', async (cell, expected) => {
    expect(await through(cell, 'boolean')).toBe(expected);
  });

  it('take yes and no among the words of the mapping for all that say so', async () => {
    const optedOut: Transform = { boolean: { yes: ['no'], no: ['yes', 'opted out'] } };
    expect(await through('FALSCH', optedOut)).toBe('true');
    expect(await through('Opted out', optedOut)).toBe('false');
  });

  it('take the words of the mapping instead', async () => {
    expect(await through('ja', { boolean: { yes: ['ja'], no: ['nein'] } })).toBe('true');
    expect(await through('yes', { boolean: { yes: ['ja'], no: ['nein'] } })).toBe('not-a-boolean');
  });
});

describe('slugs', () => {
  it.each([
    ['Hoodie with Pocket and  Logo', 'hoodie-with-pocket-and-logo'],
    ['Château d’Yquem & Fils', 'chateau-dyquem-fils'],
    ['Aleksandrović Đurđevak', 'aleksandrovic-durdevak'],
    ['Straße Łódź Ærø', 'strasse-lodz-aero'],
    ['L\u0313ux \u0141\u0313uk', 'lux-luk'],
    ['Подарочный набор', 'подарочный-набор'],
    ['Йод', 'йод'],
    ['سرخ\u200cکن بدون روغن', 'سرخ-کن-بدون-روغن'],
    ['日本語 タイトル', '日本語-タイトル'],
    ['กาแฟดำ', 'กาแฟดำ'],
    ['---', ''],
  ])('of %s is %s', (text, slug) => {
    expect(slugify(text)).toBe(slug);
  });

  it('keep what the mapping says', async () => {
    expect(await through('Perfume_001.A b', { slug: { keep: '_.', case: 'keep' } })).toBe('Perfume_001.A-b');
  });

  it('are the same made of themselves, and begin and end with no hyphen', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const slug = slugify(text);
        expect(slugify(slug)).toBe(slug);
        expect(slug).not.toMatch(/^-|-$|--|\s/);
      }),
    );
  });
});

describe('values', () => {
  it('take the first that is not blank', async () => {
    expect(await gives('', { first: ['other', 'cell', { const: 'x' }] })).toBe('x');
  });

  it('join what is there', async () => {
    expect(await gives('a', { join: ['cell', 'other', 'n'], with: '/' })).toBe('a/u');
  });

  it('are blank when their condition does not hold', async () => {
    expect(await gives('a', { value: 'cell', when: { n: 'x' } })).toBeUndefined();
    expect(await gives('a', { value: 'cell', unless: { n: 'x' } })).toBe('a');
  });

  it('that are maps go through transforms at the start of a pipeline', async () => {
    expect(await gives('', [{ first: ['cell', 'n'] }, 'upper'])).toBe('U');
  });

  it('reject where the mapping says so', async () => {
    expect(await gives('', { value: 'cell', blank: 'reject' })).toBe('description-missing');
  });

  it('clear where the mapping says so, and only where the file has the column', async () => {
    expect(await gives('', { value: 'cell', blank: 'clear' })).toBe('');
    expect(await gives('', { value: ['cell', { split: ',' }], blank: 'clear' }, 'images')).toEqual([]);
  });

  it('become a list of addresses, without what is none', async () => {
    expect(
      await gives(
        'https://a.example/1, n/a, //b.example/2, https://a.example/1',
        ['cell', { split: ',' }],
        'images',
      ),
    ).toEqual(['https://a.example/1', 'https://b.example/2']);
  });

  it('take no address that runs into another, and let one hold another', async () => {
    const cell = 'https://a.example/1.jpghttps://a.example/2.jpg';
    expect(await gives('https://a.example/1.jpg, ', ['cell'], 'images')).toEqual(['https://a.example/1.jpg']);
    const proxied = [
      'https://p.example/fetch/https://a.example/1.jpg',
      'https://p.example/?u=https://a.example/1',
    ];
    expect(await gives([cell, ...proxied].join(' '), ['cell', { split: ' ' }], 'images')).toEqual(proxied);
    expect(await gives(cell, ['cell'], 'images')).toBeUndefined();
  });
});
