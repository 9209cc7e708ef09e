import { createColors } from 'picocolors';
import type { PageOptions } from './wording/page.ts';
import { wrap } from './wording/page.ts';
import { printable } from './wording/printable.ts';

/** Something that was looked at, and what was found. */
export interface ReportedFinding {
  readonly subject: string;
  readonly verdict: 'ok' | 'warning' | 'error' | 'not-checked';
  readonly message: string;
  readonly hint?: string | undefined;
}

const WORDS = { ok: 'ok', warning: 'warning', error: 'error', 'not-checked': 'not checked' } as const;
const MARGIN = 'not checked  '.length;
const NARROWEST = 40;

/** For each finding its verdict, what was found, and below it what to do. */
export function findingsText(findings: readonly ReportedFinding[], { colors, width }: PageOptions): string {
  const paint = createColors(colors);
  const tones = { ok: paint.green, warning: paint.yellow, error: paint.red, 'not-checked': paint.dim };
  const lines = findings.flatMap(({ subject, verdict, message, hint }) => {
    const room = Math.max(NARROWEST, width - MARGIN);
    const [first = '', ...more] = wrap(printable(`${subject}: ${message}`), room);
    const advice = hint === undefined || verdict === 'ok' ? [] : wrap(printable(hint), room);
    return [
      `${tones[verdict](WORDS[verdict].padEnd(MARGIN))}${first}`,
      ...[...more, ...advice].map((line) => `${' '.repeat(MARGIN)}${line}`),
    ];
  });
  return `${lines.join('\n')}\n`;
}
