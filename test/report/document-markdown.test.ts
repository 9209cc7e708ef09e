import { expect, it } from 'vitest';
import { documentMarkdown } from '../../src/report/document-text.ts';
import { runDocument } from '../../src/report/run-document.ts';
import { facts, NOW } from './run-facts.ts';

const VIEW = { now: NOW, program: 'storeferry', version: '1.2.3' };
const HOSTILE = 'shirt @admin <img src=x onerror=alert(1)> ![x](https://evil.example) | `code` # **b**';

it('renders a plan as Markdown that begins with the same line for every plan of the job', () => {
  const shown = { ...facts({ kind: 'plan', status: 'planned' }), reportFile: '.storeferry/x/report.html' };
  const text = documentMarkdown(runDocument(shown, VIEW));
  expect(text).not.toContain('report.html');
  const [first, second] = text.split('\n');
  expect(first).toMatch(/^<!-- storeferry plan [\w-]+ -->$/);
  expect(second).toMatch(/^### Plan of /);
  expect(text).toContain('storeferry approve');
  expect(text.match(/<details>/g)?.length).toBe(text.match(/<\/details>/g)?.length);
});

it('shows names of a source and of a store as text: no mention, link, image, HTML or cell of a table', () => {
  const message = `${HOSTILE} is no price`;
  const refusals = [
    { records: 1, rows: 1, code: 'invalid', message, field: HOSTILE, column: HOSTILE, lines: [] },
  ];
  const shown = facts({ status: 'failed', error: HOSTILE }, { refusals });
  const text = documentMarkdown(runDocument(shown, VIEW));
  expect(text).toContain('shirt');
  // Outside of code, which nothing in it can end.
  const outside = text.replaceAll(/(`+)[^`](?:.*?[^`])?\1(?!`)/g, '');
  expect(outside).not.toMatch(/@admin|<img|!\[x\]\(|(?<!\\)\*\*b/);
  for (const line of outside.split('\n').filter((row) => row.startsWith('|')))
    expect(line.replaceAll('\\|', '').split('|').length, line).toBeLessThan(8);
});

it('gives a command as it is, and escapes the bars of code only in tables', () => {
  const document = runDocument(facts({ kind: 'plan', status: 'planned' }), VIEW);
  const code = { as: 'code' as const, words: 'a|b' };
  const blocks = [
    {
      kind: 'command' as const,
      what: 'Release:',
      command: "storeferry release x 'a|b'",
      action: { does: 'release' as const, run: 'x', only: ['a|b'] },
    },
    { kind: 'paragraph' as const, sentences: [code] },
    {
      kind: 'table' as const,
      caption: 'Keys',
      columns: [{ header: 'key' }],
      rows: [{ cells: [[code, { as: 'strong' as const, words: code }]] }],
    },
  ];
  const section = { id: 'next' as const, title: 'Next', blocks };
  const text = documentMarkdown({ ...document, sections: [section] });
  expect(text).toContain("`storeferry release x 'a|b'`");
  expect(text).toContain('\n`a|b`\n');
  expect(text).toContain('| `a\\|b`**`a\\|b`** |');
});

it('fits into a comment', () => {
  const fieldsChanged = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`field${n}`, n]));
  const shown = facts({ kind: 'plan', status: 'planned' });
  const document = runDocument({ ...shown, totals: { ...shown.totals, fieldsChanged } }, VIEW);
  expect(documentMarkdown(document).length).toBeLessThan(65_536);
  const long = { ...document, sections: Array.from({ length: 400 }, () => document.sections).flat() };
  expect(documentMarkdown(long)).toMatch(/left out: see `storeferry runs`\.\*\n$/);
  expect(documentMarkdown(long).length).toBeLessThan(65_536);
});
