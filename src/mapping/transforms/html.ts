import { createRequire } from 'node:module';
import type * as Entities from 'entities';
import type sanitizeHtml from 'sanitize-html';
import { z } from 'zod';
import type { Mutable } from '../../model/json-object.ts';
import {
  CONTACT_TEXT_FIELDS,
  type Contact,
  type MappedRecord,
  type ProductPatch,
} from '../../model/mapped-record.ts';
import { grouped } from '../../text/printable.ts';
import type { BuildRecord, RecordRows } from '../record-rows.ts';
import { attempt, refuse, Unreadable } from '../values/cell.ts';
import { defineTransform, type Step, textStep } from './define-transform.ts';

import harmlessHtml from './harmless-html.json' with { type: 'json' };

const treatments = z.enum(['keep', 'strip', 'sanitize', 'decode', 'escape']);

function htmlStep(treatment: z.infer<typeof treatments>): Step {
  switch (treatment) {
    case 'keep':
      return textStep((text) => text);
    case 'strip': {
      const { plain } = htmlCleaner();
      return textStep((text) => plain(text));
    }
    case 'sanitize': {
      const { harmless } = htmlCleaner();
      return textStep((text) => harmless(text));
    }
    case 'decode': {
      const { decodeHTML } = loadEntities();
      return textStep((text) => decodeHTML(text).trim());
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

/** A text is cleaned at most this often. */
const MAX_ROUNDS = 5;
/** The parser takes quadratic time for tags that are not closed: a tenth of a second for as many. */
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
    /**
     * Only the text. HTML that appears after decoding is removed as well. What was encoded twice stays as encoded text, in which a browser
     * finds no tag.
     */
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
 * The name of a tag, except those whose content the parser takes as text or drops. As `br`, which has no content, it need not be closed: the
 * parser takes quadratic time for tags that are not.
 */
const ELEMENT =
  /<(\/?)(?!(?:script|style|title|textarea|option|xmp|iframe|noembed|noframes|noscript|plaintext)[\s/>])[a-z][^\s/>]*/gi;

function stripTags(text: string, sanitize: typeof sanitizeHtml, decodeHTML: typeof Entities.decodeHTML) {
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
function paragraphs(text: string) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const parts = escaped.replaceAll(/\r\n?/g, '\n').split(/\n\s*\n/);
  return parts.map((part) => `<p>${part.trim().replaceAll('\n', '<br>')}</p>`).join('');
}

/** The HTML policies of a job, which apply after the mapping. */
export const HTML_POLICIES = ['keep', 'strip', 'sanitize'] as const;
/** One of `HTML_POLICIES`. */
export type HtmlPolicy = (typeof HTML_POLICIES)[number];

/**
 * Applies the job's HTML policy to finished records, so that no mapping can bypass it. Only a description is HTML for
 * the store (storefront-api.md, section 2, Product). Every other text loses its HTML under either policy. If HTML
 * would have to be removed from an identifier (a url, an option, a stock keeping unit), the record is rejected. A record
 * without any HTML is not changed; in others the addresses of images are encoded.
 */
export function withHtmlPolicy<Mapper extends { readonly notes: string[]; readonly build: BuildRecord }>(
  policy: HtmlPolicy,
  mapper: Mapper,
): Mapper {
  if (policy === 'keep') return mapper;
  const { plain, harmless } = htmlCleaner();
  const { notes, build } = mapper;
  const clean = (field: string, text: string, cleaned = plain) => {
    if (!hasHtml(text)) return text;
    const left = attempt(() => cleaned(text), undefined, 0);
    if (left instanceof Unreadable) throw left.in(field);
    if (left !== text) notes.push(`${field}: HTML removed, as \`html: ${policy}\` of the job says`);
    return left;
  };
  const formatted = (text: string) => clean('description', text, policy === 'strip' ? plain : harmless);
  return {
    ...mapper,
    build(rows: RecordRows, key: string) {
      const built = build(rows, key);
      if (!('body' in built) || !anyHtml(built.body)) return built;
      const { body } = built;
      const field = identifyingField(body);
      if (field !== undefined) refuseHtml(field, 'html-not-let-through', policy);
      if (!isProduct(body)) {
        const cleaned = cleanContact(body, clean);
        return Object.keys(cleaned).length > 0 ? { body: cleaned } : { skipped: NOTHING_LEFT };
      }
      const cleaned = cleanProduct(body, clean, formatted);
      return cleaned.title === '' ? refuseHtml('title', 'title-missing', policy) : { body: cleaned };
    },
  };
}

const NOTHING_LEFT = {
  code: 'nothing-to-send',
  message: 'all fields are nothing but HTML, which the job does not let through',
};

type Clean = (field: string, text: string) => string;

function isProduct(body: MappedRecord['body']): body is ProductPatch {
  return 'variants' in body;
}

function refuseHtml(field: string, code: string, policy: HtmlPolicy): never {
  const message = `${code === 'title-missing' ? 'it is nothing but HTML' : 'it contains HTML'}, which \`html: ${policy}\` of the job does not let through; correct it in the source, or let the mapping take it out (\`html: strip\`)`;
  throw new Unreadable(code, message).in(field);
}

function anyHtml(value: unknown) {
  if (typeof value === 'string') return hasHtml(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(anyHtml);
}

/** Fields that cannot be cleaned without becoming another value or a duplicate. */
function identifyingField(body: MappedRecord['body']): string | undefined {
  if (!isProduct(body)) return anyHtml(body.properties?.map(({ name }) => name)) ? 'properties' : undefined;
  const { url, variants, categories, subscription } = body;
  if (anyHtml(url)) return 'url';
  if (('options' in body && anyHtml(body.options)) || anyHtml(variants.map((variant) => variant.options)))
    return 'options';
  if (anyHtml(variants)) return 'variants.sku';
  if (anyHtml(categories?.map((one) => (typeof one === 'number' ? one : one.url)))) return 'categories';
  return anyHtml(subscription) ? 'subscription' : undefined;
}

function cleanProduct<Body extends ProductPatch>(
  product: Body,
  clean: Clean,
  formatted: (text: string) => string,
): Body {
  const { title, description, images, categories, file } = product;
  const cleaned: Mutable<ProductPatch> & Body = { ...product };
  if (title !== undefined) cleaned.title = clean('title', title);
  if (description !== undefined) {
    const left = formatted(description);
    if (left === '') delete cleaned.description;
    else cleaned.description = left;
  }
  if (images !== undefined) cleaned.images = images.map(encoded);
  if (categories !== undefined) {
    cleaned.categories = categories
      .map((one) => (typeof one === 'number' ? one : { ...one, name: clean('categories', one.name) }))
      .filter((one) => typeof one === 'number' || one.name !== '');
  }
  if (file !== undefined) cleaned.file = encoded(file);
  return cleaned;
}

/** An address keeps its meaning with these characters encoded (RFC 3986 allows none of them unencoded). */
function encoded(address: string) {
  return address.replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('"', '%22');
}

function cleanContact(contact: Contact, clean: Clean): Contact {
  const { properties, tags } = contact;
  const cleaned: Mutable<Contact> = { ...contact };
  for (const name of CONTACT_TEXT_FIELDS) {
    const text = contact[name];
    if (text === undefined) continue;
    const left = clean(name, text);
    if (left === '') delete cleaned[name];
    else cleaned[name] = left;
  }
  if (properties !== undefined) {
    const left = properties.map(({ name, value }) => ({ name, value: clean('properties', value) }));
    cleaned.properties = left.filter(({ value }) => value !== '');
    if (cleaned.properties.length === 0) delete cleaned.properties;
  }
  if (tags !== undefined) {
    cleaned.tags = [...new Set(tags.map((tag) => clean('tags', tag)))].filter((tag) => tag !== '');
    if (cleaned.tags.length === 0) delete cleaned.tags;
  }
  return cleaned;
}
