import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  editYaml,
  keepPlaceholders,
  parseTemplate,
  pausedPart,
  type YamlEdit,
} from '../../src/config/yaml-text.ts';

const JOB = `# yaml-language-server: $schema=../schemas/job.schema.json
import: products
store: main   # a name in stores.yaml

source:
    path: "list.csv" # every day
    # the sheet is the first one
mapping: my-products
safety: { maxDeletes: 5%, minRows: 80% } # careful
x-own:   [1,   2]

# When it runs:
# schedule: { cron: "15 2 * * *", timezone: UTC }
notify: { url: "\${OPS_WEBHOOK:}" }
`;

const set = (to: string | number | undefined, ...path: readonly string[]): YamlEdit => ({ set: path, to });

const placeholdersIn = (text: string) =>
  (parseTemplate(text) ?? []).flatMap((part) => (typeof part === 'string' ? [] : [part.source]));

/** A placeholder, which a test may not write into a plain text. */
function withSigns(text: string): string {
  return text.replaceAll('@{', `$${'{'}`);
}

/** Lists in each way that files write them. */
const LISTS = withSigns(`flow: [{ url: "@{A:}", on: [failed] }, { slack: "@{B}" }] # two
block:
  - url: "@{A:}"   # the first
    on: [failed]
  # before the second
  - slack: "@{B}"
one:
    url: "@{A:}"
    on: [failed] # often
inline: { teams: "@{C}" }
last:
- a
- b`);

describe('editYaml with lists', () => {
  it.each<[string, YamlEdit[], string, string]>([
    [
      'an item of a line',
      [{ set: ['flow', 2], value: { email: 'a@b.example' } }],
      '"@{B}" }]',
      '"@{B}" }, { email: a@b.example }]',
    ],
    [
      'no first item of a line',
      [{ set: ['flow', 0], to: undefined }],
      '{ url: "@{A:}", on: [failed] }, ',
      '',
    ],
    ['no last item of a line', [{ set: ['flow', 1], to: undefined }], ', { slack: "@{B}" }]', ']'],
    [
      'a key in an item of a line',
      [{ set: ['flow', 1, 'when'], to: 'change' }],
      '"@{B}" }]',
      '"@{B}", when: change }]',
    ],
    [
      'an item of a block',
      [{ set: ['block', 2], value: { teams: 'x' } }],
      '  - slack: "@{B}"\n',
      '  - slack: "@{B}"\n  - { teams: x }\n',
    ],
    [
      'no item of a block',
      [{ set: ['block', 0], to: undefined }],
      '  - url: "@{A:}"   # the first\n    on: [failed]\n',
      '',
    ],
    [
      'a value in an item of a block',
      [{ set: ['block', 0, 'on'], value: ['done'] }],
      '    on: [failed]\n  # b',
      '    on: [ done ]\n  # b',
    ],
    [
      'a new key in an item of a block',
      [{ set: ['block', 1, 'when'], to: 'change' }],
      '  - slack: "@{B}"\n',
      '  - slack: "@{B}"\n    when: change\n',
    ],
    [
      'another item of a block',
      [{ set: ['block', 1], value: { url: 'x' } }],
      '- slack: "@{B}"\none',
      '- { url: x }\none',
    ],
    [
      'a list of a block',
      [{ list: 'one' }],
      '    url: "@{A:}"\n    on: [failed]',
      '    - url: "@{A:}"\n      on: [failed]',
    ],
    ['a list of a line', [{ list: 'inline' }], '{ teams: "@{C}" }', '[{ teams: "@{C}" }]'],
    ['an item at the end of the file', [{ set: ['last', 2], value: 'c' }], '- b', '- b\n- c\n'],
    [
      'no list without items',
      [
        { set: ['last', 0], to: undefined },
        { set: ['last', 0], to: undefined },
      ],
      'last:\n- a\n- b',
      '',
    ],
  ])('writes %s and leaves the rest', (_, edits, before, after) => {
    const wanted = LISTS.replace(withSigns(before), () => withSigns(after));
    expect(wanted).not.toBe(LISTS);
    expect(editYaml(LISTS, edits).replaceAll(' ]', ']').replaceAll('[ ', '[')).toBe(
      wanted.replaceAll(' ]', ']').replaceAll('[ ', '['),
    );
  });

  it('keeps the placeholders of a list that gets another item', () => {
    const edited = editYaml(LISTS, [
      { list: 'one' },
      { set: ['one', 1], value: { slack: withSigns('@{X}') } },
      { set: ['one', 0, 'url'], to: withSigns('@{A:}/x') },
    ]);
    expect(parse(edited).one).toEqual([
      { url: withSigns('@{A:}/x'), on: ['failed'] },
      { slack: withSigns('$@{X}') },
    ]);
  });
});

describe('editYaml', () => {
  it.each<[string, YamlEdit[], string, string]>([
    ['a quoted text', [set('new/*.csv', 'source', 'path')], '"list.csv" #', '"new/*.csv" #'],
    ['a value in a line', [set('10%', 'safety', 'minRows')], 'minRows: 80%', 'minRows: 10%'],
    [
      'a new key of a block',
      [set(3, 'source', 'headerRow')],
      '# every day\n',
      '# every day\n    headerRow: 3\n',
    ],
    ['a new key of a line', [set('off', 'safety', 'maxChanges')], '80% }', '80%, maxChanges: off }'],
    ['no key of a line', [set(undefined, 'safety', 'maxDeletes')], 'maxDeletes: 5%, ', ''],
    ['no last key of a line', [set(undefined, 'safety', 'minRows')], ', minRows: 80%', ''],
    [
      'no key of a line, and no line then',
      [set(undefined, 'safety', 'maxDeletes'), set(undefined, 'safety', 'minRows')],
      'safety: { maxDeletes: 5%, minRows: 80% } # careful\n',
      '',
    ],
    [
      'another key of a block',
      [set('https://a.example/?page=1', 'source', 'url'), set(undefined, 'source', 'path')],
      '    path: "list.csv" # every day\n',
      '    url: "https://a.example/?page=1"\n',
    ],
    [
      'a new map, after the comment that shows it',
      [set('0 * * * *', 'schedule', 'cron'), set('Europe/London', 'schedule', 'timezone')],
      'timezone: UTC }\n',
      'timezone: UTC }\nschedule: { cron: "0 * * * *", timezone: Europe/London }\n',
    ],
  ])('writes %s and leaves the rest', (_, edits, before, after) => {
    const wanted = JOB.replace(before, () => after);
    expect(wanted).not.toBe(JOB);
    expect(editYaml(JOB, edits)).toBe(wanted);
    expect(editYaml(`\uFEFF${JOB.replaceAll('\n', '\r\n')}`, edits)).toBe(
      `\uFEFF${wanted.replaceAll('\n', '\r\n')}`,
    );
  });

  it.each([
    'a: 1\nschedule: { cron: "1 2 * * *" } # why\nb: 2\n',
    'schedule:\n  cron: 1 2 * * *\n  # zone\n  timezone: UTC # here\n\n# the end\n',
    'a: 1\nschedule: { cron: "1 2 * * *" }',
    'a: 1\r\nschedule:\r\n  cron: 1 2 * * *\r\nb: 2\r\n',
  ])('pauses a key as a comment and brings every byte back', (text) => {
    const paused = editYaml(text, [{ pause: 'schedule' }]);
    expect(parse(paused) ?? {}).not.toHaveProperty('schedule');
    expect(pausedPart(paused, 'schedule')).toEqual(parse(text).schedule);
    expect(editYaml(paused, [{ resume: 'schedule' }])).toBe(text);
    expect(editYaml(paused, [{ dropPaused: 'schedule' }])).not.toContain('paused');
  });

  it('refuses what it cannot write exactly', () => {
    for (const text of [
      'a: &x { path: 1 }\nsource: *x\n',
      'source: [1]\n',
      '- 1\n',
      'source: {\n',
      'a: &p 1\nb: *p\n',
    ]) {
      const path = text.includes('&p') ? ['a'] : ['source', 'path'];
      expect(() => editYaml(text, [{ set: path, to: 'b' }])).toThrow('cannot change safely');
    }
  });

  it.each([
    ['keeps those of the value', `\${FEED}/b?t=\${T:x}`, `\${FEED}/b?t=\${T:x}`],
    ['writes others as text', `\${KEY}\${FEED}`, `$\${KEY}\${FEED}`],
    ['writes those with another default as text', `\${T}\${T:y}`, `$\${T}$\${T:y}`],
    ['writes those within others as text', `\${X:\${KEY}}`, `$\${X:$\${KEY}}`],
    ['writes what is no placeholder as text', '${ ${T', '$${ $${T'],
    ['leaves text as it is', `$\${KEY} $$\${FEED} $5`, `$\${KEY} $$\${FEED} $5`],
  ])('%s, of placeholders', (_, typed, written) => {
    const file = `source: { url: "\${FEED}/a?t=\${T:x}" }\nother: "\${KEY}"\n`;
    const edit = { set: ['source', 'url'], to: typed };
    expect(parse(editYaml(file, [edit])).source.url).toBe(written);
    const foreign = parse(editYaml(file, [{ ...edit, foreign: true }])).source.url;
    expect(parseTemplate(foreign)?.every((part) => typeof part === 'string')).toBe(true);
  });

  it('keeps no placeholder in a text that a template cannot have', () => {
    const sign = fc.constantFrom('$', '{', '}', 'A', ':', '${', `\${A}`, `\${A:B}`);
    const anyText = fc.array(sign, { maxLength: 12 }).map((all) => all.join(''));
    fc.assert(
      fc.property(anyText, anyText, (typed, before) => {
        const known = new Set(placeholdersIn(before));
        const kept = placeholdersIn(keepPlaceholders(typed, before));
        expect(kept.filter((one) => !known.has(one))).toEqual([]);
        expect(parseTemplate(keepPlaceholders(typed, before))).toBeDefined();
      }),
    );
  });

  it('writes any text, or refuses', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.constantFrom('null', '1', '- a', `\${A:b}`, 'a: b', '# c', 'yes', '~', '{', '5%'),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom('path', 'sheet'), (text, key) => {
        for (const file of [JOB, 'source: { path: a }\n', 'source:\n  path: |\n    a\nb: 1\n']) {
          const edited = editYaml(file, [{ set: ['source', key], to: text }]);
          const written: string = parse(edited).source[key];
          if (text.includes('$${')) expect(written).toContain('$${');
          else expect(parseTemplate(written)).toEqual(text === '' ? [] : [text]);
        }
      }),
    );
  });
});
