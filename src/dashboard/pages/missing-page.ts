import { html, type Slot } from '../../report/html/markup.ts';
import type { Frame } from './frame.ts';
import { page, type Section } from './layout.ts';

/** What is not there, and what to do instead. */
export interface Missing {
  readonly title: string;
  readonly advice: Slot;
  readonly section?: Section;
}

/** The page for an address that leads nowhere; goes with the status 404. */
export function missingPage({ title, advice, section }: Missing, frame: Frame): string {
  return page({
    ...frame,
    title,
    ...(section === undefined ? {} : { section }),
    body: html`<div class="empty"><p>${advice}</p></div>`,
  });
}
