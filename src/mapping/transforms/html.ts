import { createRequire } from 'node:module';
import { decodeHTML } from 'entities';
import type sanitizeHtml from 'sanitize-html';
import { textOrBlank } from './text.ts';
import { type Step, textStep } from './transform.ts';

/** What becomes of HTML in a text, as a mapping says it. */
export type HtmlTreatment = 'keep' | 'strip' | 'sanitize' | 'decode' | 'escape';

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
export function html(treatment: HtmlTreatment): Step {
  switch (treatment) {
    case 'keep':
      return textStep((text) => text);
    case 'strip': {
      const { plain } = htmlCleaner();
      return textStep((text) => textOrBlank(plain(text)));
    }
    case 'sanitize': {
      const { harmless } = htmlCleaner();
      return textStep((text) => textOrBlank(harmless(text)));
    }
    case 'decode':
      return textStep((text) => textOrBlank(decodeHTML(text).trim()));
    case 'escape':
      return textStep(paragraphs);
    default:
      return treatment satisfies never;
  }
}

/** Takes from texts what is, or may become, HTML. */
export interface HtmlCleaner {
  /** The text alone. What is HTML only once it is decoded is taken out as well, however often it was encoded. */
  plain(text: string): string;
  /** HTML of the allow-list, and nothing else. */
  harmless(text: string): string;
}

/** What begins a tag or a comment for a browser (HTML Standard, 13.2.5.6); any other `<` is a character. */
const MARKUP = /<[a-z/!?]/i;

/** Whether a browser would find HTML in the text. */
export function hasHtml(text: string): boolean {
  return MARKUP.test(text);
}

/** Loads the sanitizer. */
export function htmlCleaner(): HtmlCleaner {
  const sanitize = loadSanitizer();
  return {
    plain(text) {
      let bare = stripped(text, sanitize);
      while (hasHtml(bare)) {
        const barer = stripped(bare, sanitize);
        // Should the sanitizer ever see text where a browser sees a tag, the tag is broken.
        bare = barer === bare ? barer.replaceAll(/<(?=[a-z/!?])/gi, '') : barer;
      }
      return bare;
    },
    harmless: (text) => sanitize(text, HARMLESS).trim(),
  };
}

/** Loaded where it is wanted: it would double the time that a small import takes to start. */
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
