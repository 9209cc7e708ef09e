import type { Style, Words } from '../document.ts';
import { printable } from '../wording/printable.ts';
import { drawingMarkup } from './drawings.ts';
import { html, type Markup } from './markup.ts';
import { badge } from './status-badge.ts';

/** Words of a document with their markup: all text is escaped, and nothing in it acts. */
export function wordsMarkup(words: Words): Markup {
  if (words === false || words === null) return html``;
  if (typeof words === 'string') return html`${printable(words)}`;
  if (!('as' in words)) return html`${words.map(wordsMarkup)}`;
  switch (words.as) {
    case 'drawing':
      return drawingMarkup(words.drawing);
    case 'badge':
      return badge(words.tone, printable(words.words));
    case 'samples':
      return html`<ul class="samples">${words.items.map((item) => html`<li>${wordsMarkup(item)}</li>`)}</ul>`;
    default:
      break;
  }
  if (words.only !== undefined && words.only !== 'page') return html``;
  return styled(words.as, wordsMarkup(words.words));
}

function styled(style: Style | 'plain', text: Markup): Markup {
  switch (style) {
    case 'plain':
      return text;
    case 'foreign':
      return html`<bdi>${text}</bdi>`;
    case 'strong':
      return html`<strong>${text}</strong>`;
    case 'code':
      return html`<code>${text}</code>`;
    case 'setting':
      return html`<code class="setting">${text}</code>`;
    case 'removed':
      return html`<del>${text}</del>`;
    case 'added':
      return html`<ins>${text}</ins>`;
    case 'unusual':
      return html`<strong class="unusual"><span class="sign" aria-hidden="true">!</span> ${text}<span class="unseen">, unusual</span></strong>`;
    case 'key':
      return html`<span class="sample-key">${text}</span>`;
    case 'examples':
    case 'places':
    case 'subject':
    case 'text':
    case 'tone-good':
    case 'tone-warning':
    case 'tone-bad':
    case 'tone-quiet':
    case 'tone-strong':
      return html`<span class="${style}">${text}</span>`;
    default:
      return style satisfies never;
  }
}
