import { createRequire } from 'node:module';
import type * as Entities from 'entities';
import type sanitizeHtml from 'sanitize-html';
import { z } from 'zod';
import { grouped } from '../../model/decimal.ts';
import { refuse } from '../values/cell.ts';
import { defineTransform, type Step, textOrBlank, textStep } from './define-transform.ts';
import harmlessHtml from './harmless-html.json' with { type: 'json' };

const treatments = z.enum(['keep', 'strip', 'sanitize', 'decode', 'escape']);

function htmlStep(treatment: z.infer<typeof treatments>): Step {
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
    case 'decode': {
      const { decodeHTML } = loadEntities();
      return textStep((text) => textOrBlank(decodeHTML(text).trim()));
    }
    case 'escape':
      return textStep(paragraphs);
    default:
      return treatment satisfies never;
  }
}

/** `html`: how to treat the HTML in a text. */
export const html = defineTransform({
  name: 'html',
  map: {
    shape: {
      html: treatments.describe(
        '`strip` leaves text, `sanitize` harmless tags; `decode` reads `&amp;` and the like, `escape` makes HTML of text, with line breaks.',
      ),
    },
    compile: ({ html: treatment }) => htmlStep(treatment),
  },
  examples: [
    { cell: '<p>Hand <b>thrown</b></p>', steps: '{ html: strip }', gives: 'Hand thrown' },
    {
      cell: '<p onclick="x()">Hand <b>thrown</b></p>',
      steps: '{ html: sanitize }',
      gives: '<p>Hand <b>thrown</b></p>',
    },
    { cell: 'Salt &amp; pepper', steps: '{ html: decode }', gives: 'Salt & pepper' },
    { cell: '5 < 6 cm', steps: '{ html: escape }', gives: '<p>5 &lt; 6 cm</p>' },
  ],
});

/** The beginning of a tag or a comment for a browser (HTML Standard, 13.2.5.6); any other `<` is a character. */
const MARKUP = /<[a-z/!?]/i;

const OPENING = /<[a-z]/gi;

/** A text is decoded this often. */
const MAX_ROUNDS = 5;
/** The parser takes quadratic time for tags that are not closed: 50 ms for as many. */
const MAX_TAGS = 20_000;

/** Whether a browser would find HTML in the text. */
export function hasHtml(text: string): boolean {
  return MARKUP.test(text);
}

/** Loads the sanitizer. */
export function htmlCleaner() {
  const sanitize = loadSanitizer();
  const { decodeHTML } = loadEntities();
  const stripped = (text: string) => stripTags(text, sanitize, decodeHTML);
  return {
    /** Only the text. HTML that appears after decoding is removed as well, however often it was encoded. */
    plain(text: string): string {
      let bare = stripped(text);
      for (let round = 1; round < MAX_ROUNDS && hasHtml(bare); round += 1) bare = stripped(bare);
      // Encoded more often than any export does, or a tag for a browser only: without `<` there is none.
      return hasHtml(bare) ? bare.replaceAll('<', '') : bare;
    },
    /** Only text formatting, lists, tables, links and images; no scripts, styles or frames. Unreadable if the text has too many tags. */
    harmless(text: string): string {
      const tags = text.match(OPENING)?.length ?? 0;
      if (tags > MAX_TAGS) {
        refuse(
          'html-too-long',
          `its HTML has ${grouped(tags)} tags, at most ${grouped(MAX_TAGS)} are sanitized; take the HTML out with \`html: strip\`, or shorten it in the source`,
        );
      }
      return sanitize(text, harmlessHtml).trim();
    },
  };
}

/** Loaded on first use: it would double the time that a small import takes to start. */
function loadSanitizer(): typeof sanitizeHtml {
  return createRequire(import.meta.url)('sanitize-html');
}

/** Loaded on first use, too: 20 ms for every command. */
function loadEntities(): typeof Entities {
  return createRequire(import.meta.url)('entities');
}

/**
 * The name of a tag whose content is text for the parser. As `br`, which has no content, it need not be closed: the
 * parser takes quadratic time for tags that are not.
 */
const ELEMENT =
  /<(\/?)(?!(?:script|style|title|textarea|option|xmp|iframe|noembed|noframes|noscript|plaintext)[\s/>])[a-z][^\s/>]*/gi;

function stripTags(
  text: string,
  sanitize: typeof sanitizeHtml,
  decodeHTML: typeof Entities.decodeHTML,
): string {
  const spaced = text
    .replaceAll(/<(?:br|\/p|\/div|\/li|\/h[1-6]|\/tr)\b/gi, '\n$&')
    .replaceAll(ELEMENT, '<$1br');
  const bare = decodeHTML(sanitize(spaced, { allowedTags: [], allowedAttributes: {} }));
  return bare
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** Plain text as HTML: paragraphs at blank lines, with line breaks within them. */
function paragraphs(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const parts = escaped.replaceAll(/\r\n?/g, '\n').split(/\n\s*\n/);
  return parts.map((part) => `<p>${part.trim().replaceAll('\n', '<br>')}</p>`).join('');
}
