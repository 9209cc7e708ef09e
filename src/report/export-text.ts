import type { Exported } from '../model/exported.ts';
import type { Run, RunTotals } from '../model/run.ts';
import { type NextStep, PROGRAM } from './next-steps.ts';
import { formatBytes } from './wording/byte-sizes.ts';
import type { Page } from './wording/page.ts';
import { printable } from './wording/printable.ts';
import { grouped } from './wording/words.ts';

/** What an export has read, what it has written, and where that is. */
export function sayExport(page: Page, exported: Exported, { resource }: Run, totals: RunTotals): void {
  const item = resource === 'orders' ? 'order' : 'list';
  page.figures([
    [
      'read',
      grouped(exported.items),
      `${exported.items === 1 ? item : `${item}s`} at ${readAtWords(exported)}`,
    ],
    [
      'written',
      grouped(exported.lines),
      `${exported.lines === 1 ? 'line' : 'lines'} ${placeWords(exported)}`,
    ],
    ['requests', grouped(totals.requests), ''],
  ]);
  page.say(`File: ${printable(exported.location)} (${exported.format}, ${formatBytes(exported.bytes)})`, {
    indent: 2,
    tone: 'strong',
  });
}

function placeWords({ mode, begun }: Exported): string {
  if (begun === true) return 'in a new file: it was not there, or empty';
  return mode === 'append' ? 'added to it' : 'written anew';
}

/** What may be typed after an export that went well. */
export function afterExport(exported: Exported, { job, resource }: Run, program = PROGRAM): NextStep[] {
  if (resource !== 'subscriber-lists' || exported.mode !== 'append') return [];
  return [{ what: 'To see how the lists have fared:', command: `${program} stats ${job}` }];
}

/** When the store was read: `2026-11-21 06:00:02 UTC`. */
export function readAtWords({ readAt }: Pick<Exported, 'readAt'>): string {
  return `${readAt.replace('T', ' ').slice(0, 'yyyy-mm-dd hh:mm:ss'.length)} UTC`;
}
