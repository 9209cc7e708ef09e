import { readXml, type XmlHandlers } from './read-xml.ts';
import { collectRecordPaths, MAX_BESIDE_LENGTH, type RecordPaths } from './record-paths.ts';
import { type ObjectPlace, type RecordsAsRows, recordsAsRows } from './records-as-rows.ts';
import { recordsIn, type TableFile, type TableReader, type TableRow, tableLimitError } from './table-file.ts';

/** The usual places of records in feeds, if the job names none. */
const KNOWN_PATHS: ReadonlySet<string> = new Set([
  'rss.channel.item',
  'feed.entry',
  'rdf:RDF.item',
  'SHOP.SHOPITEM',
  'yml_catalog.shop.offers.offer',
  'mywebstore.products.product',
  'offers.o',
  'offers.group.o',
]);

/**
 * Reads the records of an XML file as a stream: the elements at the path `records`, or those of a usual feed.
 * The columns are the elements within a record by their path (`g:price`, `variant.sku`) and attributes (`link@href`).
 * An element with text and markup of HTML alone has all of it, with the tags: `Not <b>dishwasher</b> safe`. Beside other
 * elements, which are data, it has only its own text: `SKU-0` of `<id>SKU-0<type>own</type></id>`.
 */
export async function readXmlRecords(file: TableFile): Promise<TableReader> {
  const rows = recordsAsRows(file);
  const { path: records } = recordsIn(file.choice);
  let title = records ?? '';
  const repeated = collectRecordPaths();
  return {
    batches: recordsOf(file, rows, repeated, (path) => {
      const isRecord = records === undefined ? KNOWN_PATHS.has(path) : path === records;
      if (isRecord) title = path;
      return isRecord;
    }),
    title: () => title,
    header: () => rows.header,
    beside: repeated.beside,
  };
}

interface OpenElement {
  readonly path: string;
  /** The element whose content this belongs to. */
  readonly within: OpenElement | undefined;
  readonly isRecord: boolean;
  /** Whether it is a record or a row within one (inner: see `recordsAsRows`): what is in it are columns, and no content of its own. */
  readonly isRow: boolean;
  /** Its place among those with the same path; undefined for a row. */
  readonly object: ObjectPlace | undefined;
  readonly hasAttributes: boolean;
  /** Its own text, without that of the elements in it. */
  text: string;
  /** Its text, with the tags of the elements in it. Text is not escaped, as in cells of elements without others. */
  content: string;
  /** Whether all elements in it are markup; else its content is not kept, nor that of the elements around it. */
  isMarkup: boolean;
  hasText: boolean;
  /** Whether elements in it have text, and paragraphs. */
  inner: undefined | 'text' | 'paragraphs';
  hasChildren: boolean;
}

/** The elements of HTML for text. */
const MARKUP =
  /^(?:a|abbr|b|big|blockquote|br|caption|center|cite|code|d[dlt]|del|div|em|figcaption|figure|font|h[1-6r]|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|small|span|strong|su[bp]|table|tbody|t[dhr]|tfoot|thead|time|ul?|var|wbr)$/i;

/** Those that make paragraphs, which data are hardly named after. */
const BLOCK = /^(?:blockquote|div|dl|h[1-6]|[ou]l|p|pre|table)$/i;

/** Those that have no end tag: in a browser `<br></br>` is two. */
const VOID = /^(?:[bh]r|img|wbr)$/i;

async function* recordsOf(
  file: TableFile,
  rows: RecordsAsRows,
  repeated: RecordPaths,
  isRecord: (path: string) => boolean,
): AsyncGenerator<readonly TableRow[]> {
  const open: OpenElement[] = [];
  const { cellBytes } = file.limits;
  // What is too long is not kept: where elements alone make it so, they are no value.
  const add = (element: OpenElement, part: string) => {
    if (element.isMarkup && element.content.length <= cellBytes)
      element.content += part.slice(0, cellBytes + 1);
  };
  const refuseBeyondLimit = ({ path, hasText }: OpenElement, { length }: string) => {
    if (hasText && length > cellBytes)
      throw tableLimitError(file, 'cellBytes', { line: rows.count + 1, column: path });
  };
  const prefixes = columnPrefixes();
  const handlers: XmlHandlers = {
    open(written, attributes) {
      prefixes.open(attributes);
      const name = prefixes.nameOf(written);
      const parent = open.at(-1);
      if (parent !== undefined) parent.hasChildren = true;
      const before = parent === undefined || parent.isRecord ? '' : `${parent.path}.`;
      const path = before + name;
      const begins = !rows.isOpen && isRecord(path);
      const within = rows.isOpen && parent?.isRow === false ? parent : undefined;
      const isInner = rows.isInner(path);
      if (!rows.isOpen) repeated.add(path);
      if (begins) rows.begin();
      else if (isInner) rows.beginInner();
      const isRow = begins || isInner;
      const object = isRow || !rows.isOpen ? undefined : rows.nextObject(path);
      open.push({
        path,
        within,
        isRecord: begins,
        isRow,
        object,
        hasAttributes: Object.keys(attributes).length > 0,
        text: '',
        content: '',
        isMarkup: true,
        hasText: false,
        inner: undefined,
        hasChildren: false,
      });
      let tag = written;
      for (const [attribute, value] of Object.entries(attributes)) {
        if (attribute !== 'xmlns' && !attribute.startsWith('xmlns:')) {
          tag += ` ${attribute}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`;
          const own = prefixes.nameOf(attribute);
          if (rows.isOpen) rows.put(`${begins ? '' : path}@${own}`, value.trim(), object);
          else repeated.addLeaf(`${path}@${own}`, value.trim());
        }
      }
      if (within === undefined) return;
      if (MARKUP.test(written)) add(within, `<${tag}>`);
      else {
        for (let around: OpenElement | undefined = within; around?.isMarkup; around = around.within) {
          around.isMarkup = false;
          around.content = '';
        }
      }
    },
    text(part) {
      const element = open.at(-1);
      if (element === undefined || (!rows.isOpen && element.text.length > MAX_BESIDE_LENGTH)) return;
      element.hasText ||= part.trim() !== '';
      if (element.text.length <= cellBytes) element.text += part;
      if (rows.isOpen) refuseBeyondLimit(element, element.text);
      add(element, part);
    },
    close(written) {
      prefixes.close();
      const element = open.pop();
      if (element === undefined) return;
      if (!rows.isOpen) {
        if (!element.hasChildren) repeated.addLeaf(element.path, element.text.trim());
        return;
      }
      const { content, within, hasText, inner, isMarkup } = element;
      const value = isMarkup ? content : element.text;
      refuseBeyondLimit(element, value);
      if (within !== undefined) {
        add(within, VOID.test(written) ? content : `${content}</${written}>`);
        if (hasText || inner !== undefined) {
          if (inner === 'paragraphs' || BLOCK.test(written)) within.inner = 'paragraphs';
          else within.inner ??= 'text';
        }
      }
      if (element.isRecord) {
        if (hasText) rows.put('text', value.trim());
        rows.end();
      } else {
        const isText = hasText || (isMarkup && inner === 'paragraphs' && content.length <= cellBytes);
        // Attributes, or elements in it, are values of the same object; else it is a value of the element around it.
        const { object } = element.hasAttributes || element.hasChildren ? element : (within ?? element);
        if (isText || !element.hasChildren) rows.put(element.path, value.trim(), object);
        if (element.isRow) rows.endInner();
      }
    },
  };
  for await (const _ of readXml(file.content(), handlers, { file, localNames: false })) yield rows.take();
  if (rows.count > 0) return rows.refuseWithoutInner();
  const { path: records } = recordsIn(file.choice);
  throw repeated.tableChoiceError(
    file,
    `The XML file has no records${records === undefined ? ': it is none of the known feeds' : ` at \`${records}\``}.`,
    'Set `records` in the source of the job to the path of the elements that are the records, such as `shop.offers.offer`.',
  );
}

/** The namespace of Google's product feeds, whose columns are known by the prefix `g`. */
const GOOGLE = /^https?:\/\/base\.google\.com\/ns\/1\.0\/?$/i;

/**
 * The prefixes of columns: one for each namespace, whatever prefixes the file uses for it. The first namespace of a prefix
 * keeps it; another one with the same prefix gets a number. A prefix that is not declared stays unchanged.
 */
function columnPrefixes() {
  const byNamespace = new Map<string, string>();
  /** The prefix of columns for each prefix of the file, at the open element. */
  const current = new Map<string, string>();
  /** For each open element, what the prefixes that it declares meant before. */
  const before: (readonly (readonly [written: string, prefix: string | undefined])[])[] = [];

  const prefixOf = (namespace: string, written: string) => {
    const known = byNamespace.get(namespace);
    if (known !== undefined) return known;
    if (byNamespace.size >= MAX_NAMESPACES) return written;
    const taken = new Set(byNamespace.values());
    const usual = GOOGLE.test(namespace) ? 'g' : written;
    let prefix = usual;
    for (let number = 2; taken.has(prefix); number += 1) prefix = `${usual}${number}`;
    byNamespace.set(namespace, prefix);
    return prefix;
  };
  return {
    open(attributes: Readonly<Record<string, string>>) {
      const declared = Object.entries(attributes).filter(([name]) => name.startsWith('xmlns:'));
      const replaced = declared
        .slice(0, Math.max(0, MAX_NAMESPACES - current.size))
        .map(([name, namespace]) => {
          const written = name.slice('xmlns:'.length);
          const known = current.get(written);
          current.set(written, prefixOf(namespace.trim(), written));
          return [written, known] as const;
        });
      before.push(replaced);
    },
    close() {
      for (const [written, prefix] of before.pop() ?? []) {
        if (prefix === undefined) current.delete(written);
        else current.set(written, prefix);
      }
    },
    nameOf(written: string): string {
      const colon = written.indexOf(':');
      const prefix = colon < 0 ? undefined : current.get(written.slice(0, colon));
      return prefix === undefined ? written : prefix + written.slice(colon);
    },
  };
}

/** Usual files have few; a file with ever new namespaces must take neither memory nor time. */
const MAX_NAMESPACES = 1_000;
