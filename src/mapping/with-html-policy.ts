import {
  CONTACT_TEXT_FIELDS,
  type Contact,
  type MappedRecord,
  type ProductPatch,
} from '../model/mapped-record.ts';
import type { BuildRecord, RecordRows } from './record-rows.ts';
import type { HtmlPolicy } from './spec/mapping-spec.ts';
import { hasHtml, htmlCleaner } from './transforms/html.ts';
import { attempt, Unreadable } from './values/cell.ts';

/**
 * Applies the job's HTML policy to finished records, so that no mapping can bypass it. Only a description is HTML for
 * the store (storefront-api.md, section 2, Product). Every other text loses its HTML under either policy. If HTML
 * would have to be removed from an identifier (a url, an option, a stock keeping unit), the record is rejected. Texts
 * without any HTML are not changed.
 */
export function withHtmlPolicy<Mapper extends { readonly notes: string[]; readonly build: BuildRecord }>(
  policy: HtmlPolicy,
  mapper: Mapper,
): Mapper {
  if (policy === 'keep') return mapper;
  const { plain, harmless } = htmlCleaner();
  const { notes, build } = mapper;
  const clean = (field: string, text: string, cleaned = plain): string => {
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

function anyHtml(value: unknown): boolean {
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
  const cleaned: { -readonly [K in keyof ProductPatch]: ProductPatch[K] } & Body = { ...product };
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
function encoded(address: string): string {
  return address.replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('"', '%22');
}

function cleanContact(contact: Contact, clean: Clean): Contact {
  const { properties, tags } = contact;
  const cleaned: { -readonly [K in keyof Contact]: Contact[K] } = { ...contact };
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
