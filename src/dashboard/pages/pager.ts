import { html, type Markup } from '../../report/html/markup.ts';

/** One page of many things. */
export interface Pages<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** Counts from 1. */
  readonly number: number;
  readonly count: number;
}

/** The page of this number (1 where it is none), or the last one. */
export function pageOf<T>(items: readonly T[], size: number, asked: unknown): Pages<T> {
  const count = Math.max(1, Math.ceil(items.length / size));
  const wanted = typeof asked === 'string' && /^\d{1,6}$/.test(asked) ? Number(asked) : 1;
  const number = Math.min(count, Math.max(1, wanted));
  return { items: items.slice((number - 1) * size, number * size), total: items.length, number, count };
}

/** Links to the neighbours of a page; nothing where there is but one. */
export function pager({ number, count }: Pages<unknown>, href: (number: number) => string): Markup {
  if (count === 1) return html``;
  return html`<nav class="pager" aria-label="Pages">
${number > 1 && html`<a class="button" rel="prev" href="${href(number - 1)}">Newer</a>`}
<span>Page ${number} of ${count}</span>
${number < count && html`<a class="button" rel="next" href="${href(number + 1)}">Older</a>`}
</nav>`;
}
