import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { describe, expect, it } from 'vitest';
import { documentSections } from '../../../src/report/html/document-sections.ts';
import { linePlots } from '../../../src/report/plots/line-plots.ts';
import { runDocument } from '../../../src/report/run-document.ts';
import { REPORTS, type Sample } from './report-samples.ts';

/** Members whose text is ours: what a source, a store or a user writes stands in all others. */
const OURS: ReadonlySet<string> = new Set([
  'kind',
  'status',
  'resource',
  'step',
  'mode',
  'limit',
  'policy',
  'deletesWithheld',
  'format',
  'readAt',
]);
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  'javascript:alert(1)',
  '</style></title></svg><iframe srcdoc="<script>">',
  '<!-- --><![CDATA[ ]]>',
  '&lt;b&gt;&#60;',
  '\u001b[31m\u202e\u0000\ud800',
];

/** The same facts with all texts from outside replaced. */
function withText(value: unknown, text: string, name = ''): unknown {
  if (typeof value === 'string') return OURS.has(name) ? value : text;
  if (Array.isArray(value)) return value.map((item) => withText(item, text, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withText(member, text, key)]));
}

const isFacts = (value: unknown): value is Sample =>
  typeof value === 'object' && value !== null && 'facts' in value && 'view' in value;

function hostile(shown: Sample, text: string): Sample {
  const changed = withText(shown, text);
  if (!isFacts(changed)) throw new Error('the facts have lost their shape');
  return changed;
}

type Node = DefaultTreeAdapterTypes.ChildNode;

/** Elements with the names of their attributes, in order: what a text could add to by breaking out. */
function shape(nodes: readonly Node[]): string[] {
  return nodes.flatMap((node) => {
    if (!('tagName' in node)) return node.nodeName === '#comment' ? ['comment'] : [];
    const attributes = node.attrs.map(({ name }) => name).join(' ');
    return [`${node.tagName} ${attributes}`, ...shape(node.childNodes), '/'];
  });
}

const sectionsOf = async ({ facts, view }: Sample) => String(documentSections(runDocument(facts, view)));
const shapeOf = async (shown: Sample) => shape(parseFragment(await sectionsOf(shown)).childNodes);
const NEUTRAL = 'plain words';

describe('the report of a hostile catalog', () => {
  it.each(Object.entries(REPORTS))(
    'of the kind %s has no element and no attribute more',
    async (_, shown) => {
      const expected = await shapeOf(hostile(shown(), NEUTRAL));
      for (const text of HOSTILE) expect(await shapeOf(hostile(shown(), text)), text).toEqual(expected);
    },
  );

  it('has none whatever is written anywhere', async () => {
    const report = REPORTS['strange'];
    if (report === undefined) throw new Error('there is no such sample');
    const expected = await shapeOf(hostile(report(), NEUTRAL));
    const pieces = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...HOSTILE, '<', '>', '"', "'", '&', '`', '=', '</', '/>'),
    );
    const text = fc.array(pieces, { minLength: 1, maxLength: 4 }).map((parts) => `x${parts.join('')}`);
    await fc.assert(
      fc.asyncProperty(text, async (written) => {
        expect(await shapeOf(hostile(report(), written))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('shows no character that acts on a terminal or turns the direction of a line', async () => {
    const report = REPORTS['strange'];
    if (report === undefined) throw new Error('there is no such sample');
    const page = await sectionsOf(hostile(report(), 'a\u001b[31mb\u202ec\u0007'));
    const acting = page.replaceAll('\n', '').match(/.{0,40}[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    expect(acting).toBeNull();
  });

  it('names lists in plots without becoming a part of them', async () => {
    const plotOf = async (name: string) =>
      shape(
        parseFragment(
          String(
            linePlots({
              figure: 'trends',
              trends: [
                {
                  title: name,
                  series: ['', ' II'].map((suffix, index) => ({
                    name: name + suffix,
                    points: [0, 1].map((at) => ({ at: at * 86_400_000, value: at + index })),
                  })),
                },
              ],
            }),
          ),
        ).childNodes,
      );
    const expected = await plotOf(NEUTRAL);
    for (const text of HOSTILE) expect(await plotOf(text), text).toEqual(expected);
  });
});
