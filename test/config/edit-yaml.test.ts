import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { editYaml, pausedPart, type YamlEdit } from '../../src/config/edit-yaml.ts';
import { keepPlaceholders, parseTemplate } from '../../src/config/yaml-text.ts';

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
