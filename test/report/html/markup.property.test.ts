import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { html, trusted } from '../../../src/report/html/markup.ts';

describe('html', () => {
  it('lets no text become an element or leave its attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const shown = html`<p title="${text}">${text}</p>`.toString();
        const inner = shown.slice('<p title="'.length, -'</p>'.length);
        expect(inner.replace('">', '')).not.toMatch(/[<>"']/);
      }),
    );
  });

  it('takes pieces as they are, lists joined, and leaves out what is absent', () => {
    const items = ['a & b', '<c>'].map((name) => html`<li>${name}</li>`);
    expect(html`<ul>${items}</ul>${null}${undefined}${false}${0}${trusted('<hr>')}`.toString()).toBe(
      '<ul><li>a &amp; b</li><li>&lt;c&gt;</li></ul>0<hr>',
    );
  });
});
