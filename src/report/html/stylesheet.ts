import { readFileSync } from 'node:fs';

/** The stylesheet of report and dashboard; it stands beside this file, in `dist/` too. */
export const STYLESHEET_URL = new URL('report.css', import.meta.url);

/** The text of the stylesheet, read anew each time: a report a run. */
export function readStylesheet(): string {
  return readFileSync(STYLESHEET_URL, 'utf8');
}
