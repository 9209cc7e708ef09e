import { printable } from '../wording/printable.ts';
import { html, type Markup } from './markup.ts';

/** A command on lines of its own; one click marks all of it. */
export function command(text: string): Markup {
  return html`<pre class="command"><code>${printable(text)}</code></pre>`;
}
