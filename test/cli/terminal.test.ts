import { expect, it, vi } from 'vitest';
import { escapeControls, processTerminal } from '../../src/cli/terminal.ts';
import { printable } from '../../src/text/printable.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PLAIN = { colors: false, redrawing: false };
const COLORED = { colors: true, redrawing: false };

it('writes out whatever would act on a terminal', () => {
  expect(escapeControls('a\u001b[31mb\u0007\u009b2J\u202ec\r\n\td', PLAIN)).toBe(
    'a\\u001b[31mb\\u0007\\u009b2J\\u202ec\\u000d\n\td',
  );
});

it('writes out every mark that turns or hides text, on a terminal and in a page', () => {
  const marks = '\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2064\u2066\u2069\u206f\ufffb';
  for (const mark of marks) {
    expect(escapeControls(`a${mark}b`, PLAIN)).toBe(
      `a\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}b`,
    );
    expect(printable(`a${mark}b`)).toBe('a b');
  }
  const shown = 'می\u200cخواهم 👨\u200d👩 Ärger\u00ad';
  expect([printable(shown), escapeControls(shown, PLAIN)]).toEqual([shown, shown]);
});

it('lets its own colors and redrawing through, and nothing else', () => {
  expect(escapeControls('\u001b[32mok\u001b[39m\u001b]0;title\u0007', COLORED)).toBe(
    '\u001b[32mok\u001b[39m\\u001b]0;title\\u0007',
  );
  expect(escapeControls('\r\u001b[2K\u001b[2J', { colors: true, redrawing: true })).toBe(
    '\r\u001b[2K\\u001b[2J',
  );
  expect(escapeControls('\r\u001b[2K', COLORED)).toBe('\\u000d\\u001b[2K');
});

it('leaves JSON the same JSON', () => {
  const value = { name: 'a\u009bb\u202ec\u001bd\n' };
  expect(JSON.parse(escapeControls(JSON.stringify(value), PLAIN))).toEqual(value);
});

it('prints no escape sequence of a file name or a key', async () => {
  await using workspace = await makeWorkspace({
    'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY:k}" }\n`,
    'jobs/\u001b[31mred\u001b]0;x\u0007.yaml': 'imprt: products\n"\\e[32mkey": 1\n',
    'mappings/\u001b[2Jclear.yaml': 'import: products\n',
  });
  for (const command of [['check'], ['runs'], ['plan', 'x\u001b[31m'], ['run', '\u001b[31mred']]) {
    const { stdout, stderr } = await workspace.storeferry(...command);
    expect(stdout + stderr).not.toContain('\u001b');
    expect(stdout + stderr).not.toContain('\u0007');
  }
});

it('data is unchanged for programs, and escaped on a terminal', () => {
  const { isTTY } = process.stdout;
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    for (const [shown, text] of [
      [false, 'a\r\n\u001b[2J'],
      [true, 'a\\u000d\n\\u001b[2J'],
    ] as const) {
      process.stdout.isTTY = shown;
      const { data } = processTerminal();
      data('a\r\n\u001b[2J');
      data(Buffer.from('a\r\n\u001b[2J'));
      expect(write.mock.calls.splice(0).map(([part]) => String(part))).toEqual([text, text]);
    }
  } finally {
    process.stdout.isTTY = isTTY;
    write.mockRestore();
  }
});
