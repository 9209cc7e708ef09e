import { html, type Markup, type Slot } from './markup.ts';

/** A part of the report under a heading of its own. */
export function section(id: string, title: Slot, body: Slot): Markup {
  return html`<section class="part" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${body}
</section>
`;
}
