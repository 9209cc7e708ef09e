import type { Page } from './wording/page.ts';
import { printable } from './wording/printable.ts';

/** Where the same can be looked at, and mailed; nothing when there is no report. */
export function sayReportFile(page: Page, reportFile: string | null): void {
  if (reportFile !== null) page.say(`Report with pictures: ${printable(reportFile)}`, { indent: 2 });
}
