import type { Terminal } from '../../src/cli/terminal.ts';

/** A terminal that remembers what is printed. */
export function memoryTerminal(): { readonly terminal: Terminal; out(): string; err(): string } {
  const printed = { out: '', err: '' };
  return {
    terminal: {
      out(text) {
        printed.out += text;
      },
      data(part) {
        printed.out += String(part);
      },
      err(text) {
        printed.err += text;
      },
      interactive: false,
      colors: false,
      width: 100,
    },
    out: () => printed.out,
    err: () => printed.err,
  };
}
