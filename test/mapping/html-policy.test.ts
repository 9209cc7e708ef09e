import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { describe, expect, it } from 'vitest';
import type { HtmlPolicy } from '../../src/mapping/transforms/html.ts';
import type { Contact, Mapped, Product } from '../../src/model/mapped-record.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

/** A mapping that asks for the text as it is, and decodes it once more. */
const LAX = mappingOf(`
import: products
columns: { url: Url, title: Title, body: Body, image: Image, category: Category, size: Size, sku: Sku }
product:
  url: url
  title: [title, { html: keep }]
  description: [body, { html: sanitize }, { html: decode }]
  images: [image, { split: ' ' }]
  categories: category
options: { columns: { Size: size } }
variants: { sku: sku, pricing: { price: { const: 1 } } }
`);
const HEADER = ['Url', 'Title', 'Body', 'Image', 'Category', 'Size', 'Sku'];
const PLAIN = ['mug', 'Mug', 'A mug', 'https://cdn.example/mug.png', 'Mugs', 'S', 'M-1'];

/** What becomes of one product, whose cells are those of a mug except for these. */
async function mapped(html: HtmlPolicy, cells: Readonly<Record<string, string>>): Promise<Mapped> {
  const row = HEADER.map((name, index) => cells[name] ?? PLAIN[index] ?? '');
  const { mapped } = await mapAll(LAX, [table(HEADER, [row])], { html });
  const [only] = mapped;
  if (only === undefined) throw new Error('no record');
  return only;
}

async function product(html: HtmlPolicy, cells: Readonly<Record<string, string>>): Promise<Product> {
  const one = await mapped(html, cells);
  if (one.kind !== 'record' || !('options' in one.body)) throw new Error(`not a product: ${one.kind}`);
  return one.body;
}

const ALLOWED = new Set(
  'p br hr div span h1 h2 h3 h4 h5 h6 blockquote pre code b strong i em u s small sub sup ul ol li dl dt dd table caption thead tbody tfoot tr th td a img'.split(
    ' ',
  ),
);

/** What may do harm in a text, to a parser that follows the HTML Standard and not the sanitizer's own. */
function harmIn(text: string): string[] {
  const found: string[] = [];
  const look = (node: DefaultTreeAdapterTypes.ChildNode): void => {
    if (node.nodeName === '#text') return;
    if (!('attrs' in node)) {
      found.push(node.nodeName);
      return;
    }
    if (!ALLOWED.has(node.nodeName)) found.push(node.nodeName);
    for (const { name, value } of node.attrs) {
      if (/^on|^style$|^srcdoc$|^formaction$/.test(name)) found.push(name);
      // Browsers pass over controls and blanks within a scheme.
      const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(value.replaceAll(/[\s\p{Cc}]/gu, ''))?.[1];
      if (['href', 'src'].includes(name) && scheme !== undefined && !/^(https?|mailto|tel)$/i.test(scheme)) {
        found.push(`${name}=${scheme}:`);
      }
    }
    node.childNodes.forEach(look);
  };
  parseFragment(text).childNodes.forEach(look);
  return found;
}

function elementsIn(text: string): string[] {
  return parseFragment(text).childNodes.flatMap(({ nodeName }) => (nodeName === '#text' ? [] : [nodeName]));
}

const ATTACKS = [
  '<script>alert(1)</script>',
  '<SCRIPT SRC=//evil.example/x.js></SCRIPT>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<<script>script>alert(1)<</script>/script>',
  '<img src=x onerror=alert(1)>',
  '<img src=x onerror=alert(1)',
  '<img/src="x"/onerror=alert(1)//',
  '<svg/onload=alert(1)>',
  '<svg><style><img src=x onerror=alert(1)></style></svg>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="jav\tascript:alert(1)">x</a>',
  '<a href="&#106;avascript:alert(1)">x</a>',
  '<a href="data:text/html,<script>alert(1)</script>">x</a>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<form action="https://evil.example"><button formaction="javascript:alert(1)">x</button></form>',
  '<div style="background:url(javascript:alert(1))">x</div>',
  '<template><script>alert(1)</script></template>',
  '<textarea><script>alert(1)</script></textarea>',
  '<xmp><script>alert(1)</script></xmp>',
  '<!--><script>alert(1)</script>-->',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '<![CDATA[><script>alert(1)</script>]]>',
  '<?xml ><script>alert(1)</script>',
  '</p/onmouseover=alert(1)>',
  '<base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example">',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt;',
  '<b>&lt;script&gt;alert(1)&lt;/script&gt;</b>',
  '<b>&amp;amp;lt;img src=x onerror=alert(1)&amp;amp;gt;</b>',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '&#x3c;img src=x onerror=alert(1)&#x3e;',
  '&lt<b>script&gt;alert(1)',
  '<b\u0000><scr\u0000ipt>alert(1)</script>',
];

describe('the HTML policy of a job', () => {
  it('keep leaves all to the mapping', async () => {
    const { title, description = '' } = await product('keep', {
      Title: '<b>Mug</b>',
      Body: '&lt;script&gt;alert(1)&lt;/script&gt;',
    });
    expect(title).toBe('<b>Mug</b>');
    expect(harmIn(description)).toEqual(['script']);
  });

  it.each(ATTACKS)('lets no script through, whatever the mapping does: %j', async (attack) => {
    const cells = { Title: `Mug ${attack} end`, Body: `${attack} end`, Category: `Mugs ${attack}` };
    for (const html of ['strip', 'sanitize'] as const) {
      const { title, description = '', categories } = await product(html, cells);
      expect(elementsIn(title)).toEqual([]);
      expect(elementsIn(JSON.stringify(categories))).toEqual([]);
      expect(harmIn(description)).toEqual([]);
      if (html === 'strip') expect(elementsIn(description)).toEqual([]);
    }
  });

  it('lets nothing through of pieces of attacks in any order', async () => {
    const pieces = fc.array(
      fc.constantFrom(
        ...[
          '<',
          '>',
          '</',
          '<!--',
          '-->',
          '&lt;',
          '&gt;',
          '&amp;',
          '&#60;',
          '"',
          "'",
          '`',
          '=',
          '/',
          ' ',
          '\n',
          '\u0000',
        ],
        ...[
          'script',
          'img',
          'svg',
          'b',
          'a',
          'style',
          'p',
          'src',
          'href',
          'onerror',
          'javascript:',
          'x',
          '<b>',
          '</b>',
        ],
      ),
      { maxLength: 24 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, fc.constantFrom('strip', 'sanitize'), async (parts, html) => {
        const text = parts.join('');
        const { title, description = '' } = await product(html, {
          Title: `Mug ${text}`,
          Body: `Mug ${text}`,
        });
        expect(elementsIn(title)).toEqual([]);
        expect(harmIn(description)).toEqual([]);
        if (html === 'strip') expect(elementsIn(description)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('sanitize keeps harmless formatting in a description, and strip its text', async () => {
    const Body =
      '<p onclick="x()">Fired <b>twice</b>, <a href="https://a.example" target=x>at</a> 1 200 °C</p><p>Two</p>';
    expect((await product('sanitize', { Body })).description).toBe(
      '<p>Fired <b>twice</b>, <a href="https://a.example">at</a> 1 200 °C</p><p>Two</p>',
    );
    expect((await product('strip', { Body })).description).toBe('Fired twice, at 1 200 °C\nTwo');
  });

  it('leaves texts without HTML exactly as they are', async () => {
    const Title = 'Salt & Pepper  &copy; 5 < 6 > 4 <3 "x"';
    const Image = 'https://cdn.example/a.png?a=1&copy=2';
    for (const html of ['strip', 'sanitize'] as const) {
      const { title, images } = await product(html, { Title, Image, Body: 'A &amp; B' });
      expect({ title, images }).toEqual({ title: Title, images: [Image] });
    }
  });

  it('counts what it has removed', async () => {
    expect(await mapped('strip', { Title: '<b>Mug</b>', Body: '<i>A mug</i>' })).toMatchObject({
      notes: [
        'title: HTML removed, as `html: strip` of the job says',
        'description: HTML removed, as `html: strip` of the job says',
      ],
    });
    expect(await mapped('strip', {})).not.toHaveProperty('notes');
  });

  it.each([
    ['url', { Url: 'mug<script>' }],
    ['options', { Size: '<b>S</b>' }],
    ['variants.sku', { Sku: 'M<!--1' }],
  ])('rejects a record with HTML in what identifies it: %s', async (field, cells) => {
    expect(await mapped('sanitize', cells)).toMatchObject({
      kind: 'rejected',
      reason: {
        code: 'html-not-let-through',
        field,
        line: 2,
        message: expect.stringContaining('`html: sanitize`'),
      },
    });
  });

  it('rejects a product whose title is nothing but HTML, and leaves out such a description', async () => {
    expect(await mapped('strip', { Title: '<script>x</script>' })).toMatchObject({
      kind: 'rejected',
      reason: { code: 'title-missing', field: 'title', line: 2 },
    });
    expect(await product('sanitize', { Body: '<script>x</script>' })).not.toHaveProperty('description');
  });

  it('encodes what would end the attribute that an address stands in', async () => {
    const Image = 'https://cdn.example/"><script>alert(1)</script>';
    expect((await product('sanitize', { Image })).images).toEqual([
      'https://cdn.example/%22%3E%3Cscript%3Ealert(1)%3C/script%3E',
    ]);
  });

  it('takes HTML out of every field of a contact', async () => {
    const spec = mappingOf(`
import: contacts
columns: { id: Id, note: Note, name: Name, tag: Tag, size: Size }
contact: { id: id, name: name, note: note, tags: [tag, { split: ',' }], properties: { fields: { size: size } } }
`);
    const header = ['Id', 'Name', 'Note', 'Tag', 'Size'];
    const contact = async (...cells: readonly string[]) => {
      const { mapped } = await mapAll(spec, [table(header, [['7', ...cells]])], { html: 'sanitize' });
      return mapped[0];
    };
    const expected: Contact = {
      name: 'Ann',
      note: 'good & bad',
      tags: ['vip', 'new'],
      properties: [{ name: 'size', value: 'L' }],
    };
    expect(
      await contact(
        '<b>Ann</b>',
        '<p>good &amp; bad<script>x</script></p>',
        '<i>vip</i>,vip,new,<br>',
        'L<img src=x>',
      ),
    ).toMatchObject({ kind: 'record', body: expected });
    expect(await contact('<br>', '<!-- -->', '', '')).toMatchObject({
      kind: 'skipped',
      reason: { code: 'nothing-to-send' },
    });
  });
});
