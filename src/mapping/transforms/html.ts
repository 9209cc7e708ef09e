import { createRequire } from 'node:module';
import { decodeHTML } from 'entities';
import type sanitizeHtml from 'sanitize-html';
import { textOrBlank } from './text.ts';
import { type Step, textStep } from './transform.ts';

/** What becomes of HTML in a text. */
export type HtmlPolicy = 'keep' | 'strip' | 'sanitize' | 'decode' | 'escape';

/** What `sanitize` lets through: text formatting, lists, tables, links and pictures; no scripts, styles or frames. */
const HARMLESS: sanitizeHtml.IOptions = {
  allowedTags: [
    ...['p', 'br', 'hr', 'div', 'span', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'pre', 'code'],
    ...['b', 'strong', 'i', 'em', 'u', 's', 'small', 'sub', 'sup', 'ul', 'ol', 'li', 'dl', 'dt', 'dd'],
    ...['table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'a', 'img'],
  ],
  allowedAttributes: {
    a: ['href', 'title'],
    img: ['src', 'alt', 'title', 'width', 'height'],
    th: ['colspan', 'rowspan'],
    td: ['colspan', 'rowspan'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
};

/** What becomes of the HTML in a text. */
export function html(policy: HtmlPolicy): Step {
  switch (policy) {
    case 'keep':
      return textStep((text) => text);
    case 'strip': {
      const sanitize = loadSanitizer();
      return textStep((text) => textOrBlank(stripped(text, sanitize)));
    }
    case 'sanitize': {
      const sanitize = loadSanitizer();
      return textStep((text) => textOrBlank(sanitize(text, HARMLESS).trim()));
    }
    case 'decode':
      return textStep((text) => textOrBlank(decodeHTML(text).trim()));
    case 'escape':
      return textStep(paragraphs);
    default:
      return policy satisfies never;
  }
}

/** Loaded where a mapping wants it: it would double the time that a small import takes to start. */
function loadSanitizer(): typeof sanitizeHtml {
  return createRequire(import.meta.url)('sanitize-html');
}

function stripped(text: string, sanitize: typeof sanitizeHtml): string {
  const spaced = text.replaceAll(/<(?:br|\/p|\/div|\/li|\/h[1-6]|\/tr)\b/gi, '\n$&');
  const bare = decodeHTML(sanitize(spaced, { allowedTags: [], allowedAttributes: {} }));
  return bare
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** Plain text as HTML: paragraphs at blank lines, line breaks within them. */
function paragraphs(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const parts = escaped.replaceAll(/\r\n?/g, '\n').split(/\n\s*\n/);
  return parts.map((part) => `<p>${part.trim().replaceAll('\n', '<br>')}</p>`).join('');
}
