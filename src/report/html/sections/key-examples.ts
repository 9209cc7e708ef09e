import type { KeyExample } from '../../../model/plan.ts';
import { html, type Markup } from '../markup.ts';
import { foreign } from '../text.ts';

const LONGEST_KEY = 80;

/** The first few of many, with their lines; null where there is none. */
export function keyExamples(examples: readonly KeyExample[]): Markup | null {
  if (examples.length === 0) return null;
  return html`<span class="examples">first: ${examples.map(
    ({ key, line }, index) =>
      html`${index > 0 && ', '}${foreign(key, LONGEST_KEY)}${line !== null && ` (line ${line})`}`,
  )}</span>`;
}
