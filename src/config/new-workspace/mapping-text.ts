import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { schemaLine, yamlText } from './yaml-text.ts';

/** The values of a new mapping, which its user will complete. */
export interface StarterMapping {
  readonly name: string;
  readonly imports: MappingSpec['import'];
  /** The name of the file, for people. */
  readonly file: string;
  readonly header: readonly string[];
  /** The fields without which nothing can be planned. */
  readonly required: readonly string[];
  /** Fields, with the columns that likely hold them. */
  readonly suggested: readonly { readonly field: string; readonly header: string | undefined }[];
}

/** Stands for a header that must still be chosen: no file has it, so nothing is imported by mistake. */
const TO_BE_CHOSEN = 'TO BE CHOSEN';

/** The needed fields for which no column was found. */
export function toBeChosen({ required, suggested }: StarterMapping): readonly string[] {
  return suggested
    .filter(({ field, header }) => required.includes(field) && header === undefined)
    .map(({ field }) => field);
}

/** A commented mapping of one's own to begin with: what was found is in use, all other columns are listed. */
export function mappingText(starter: StarterMapping): string {
  const { imports, file, header, required, suggested } = starter;
  const used = suggested.filter((one) => one.header !== undefined || required.includes(one.field));
  const taken = new Set(used.map((one) => one.header));
  const fields = used.map(({ field }) => field);
  const words = new Set(fields);
  const others = [...new Set(header.map((text) => text.trim()))].filter(
    (text) => text !== '' && !taken.has(text),
  );
  const spare = others.map((text) => ({ header: text, word: wordFor(text, words) }));
  const lines = [
    schemaLine('mapping', '../'),
    `# How the rows of ${file.replaceAll(/\p{Cc}+/gu, ' ')} become ${imports}. docs/mappings.md of Storeferry describes the format;`,
    `# storeferry check   shows errors in this file, and runs its tests`,
    `import: ${imports}`,
    'columns: # a name of your own for each column that you use, and its header in the file',
    ...used.map((one) =>
      one.header === undefined
        ? `  ${one.field}: ${TO_BE_CHOSEN} # write the right header here`
        : `  ${one.field}: ${yamlText(one.header)}`,
    ),
    ...(others.length === 0
      ? []
      : ['  # The other columns of the file; remove the # of each column that you use below.']),
    ...spare.map((one) => `  # ${yamlText(one.word)}: ${yamlText(one.header)}`),
    `required: [${required.join(', ')}] # a file without these has another format`,
    '',
    ...(imports === 'products' ? productLines(fields, spare) : contactLines(fields, spare)),
    '',
    '# Rows of the file, and what must be sent for them; storeferry check compares it with what the mapping gives.',
    '# tests:',
    '#   - name: a row of the file',
    '#     rows: |',
    `#       ${header
      .slice(0, 4)
      .join(',')
      .replaceAll(/[\r\n]+/g, ' ')}`,
    '#       …',
    '#     expect:',
    `#       - sends: { ${imports === 'products' ? 'title' : 'email'}: … }`,
  ];
  return `${lines.join('\n')}\n`;
}

/** A column of the file that nothing uses yet, and the word that the mapping offers for it. */
interface SpareColumn {
  readonly header: string;
  readonly word: string;
}

/** A field that many mappings have, and the headers under which its column is met. */
interface Example {
  readonly headers: RegExp;
  readonly line: (word: string) => string;
}

const PRODUCT_EXAMPLES: readonly Example[] = [
  { headers: /image|photo|picture|bild|foto|imagen/i, line: (word) => `images: [${word}, { split: "," }]` },
  { headers: /publish|visible|active|aktiv|enabled/i, line: (word) => `hidden: { ${word}: no }` },
];
const VARIANT_EXAMPLES: readonly Example[] = [
  { headers: /gram/i, line: (word) => `weight: { value: ${word}, unit: g }` },
  { headers: /weight|gewicht|poids|peso/i, line: (word) => `weight: { value: ${word}, unit: kg }` },
];
const CONTACT_EXAMPLES: readonly Example[] = [
  { headers: /tag|label|segment/i, line: (word) => `tags: [${word}, { split: "," }]` },
  { headers: /newsletter|subscri|opt.?in|consent/i, line: (word) => `subscribed: { ${word}: yes }` },
  { headers: /birth|geburt|naissance/i, line: (word) => `properties: { fields: { Birthday: ${word} } }` },
];

/** Lines to be used without their `#`, together with that of their column: only such as the file has a column for. */
function offered(examples: readonly Example[], spare: readonly SpareColumn[]): string[] {
  const taken = new Set<string>();
  return examples.flatMap(({ headers, line }) => {
    const column = spare.find(({ header, word }) => headers.test(header) && !taken.has(word));
    const written = column && line(yamlText(column.word));
    const field = written?.split(':')[0] ?? '';
    if (column === undefined || written === undefined || taken.has(field)) return [];
    taken.add(column.word).add(field);
    return [`  # ${written}`];
  });
}

function productLines(fields: readonly string[], spare: readonly SpareColumn[]): string[] {
  const inUse = (key: string, line: string) => (fields.includes(key) ? [`  ${line}`] : []);
  return [
    'product:',
    '  # The key: the same url is the same product in every run. Use a column that never changes and is unique.',
    `  url: ${fields.includes('sku') ? '[sku, slug]' : '[title, slug]'}`,
    '  title: title',
    ...inUse('description', 'description: description'),
    ...offered(PRODUCT_EXAMPLES, spare),
    'variants:',
    '  pricing: { price: price } # decimal comma: { price: [price, { number: { decimal: "," } }] }',
    ...inUse('sku', 'sku: sku'),
    ...inUse('quantity', 'quantity: [quantity, integer]'),
    ...offered(VARIANT_EXAMPLES, spare),
    '# There is more: images, categories, options, weights, and products over several rows (docs/mappings.md of Storeferry).',
  ];
}

function contactLines(fields: readonly string[], spare: readonly SpareColumn[]): string[] {
  return [
    'contact:',
    ...fields.map((field) => `  ${field}: ${field === 'email' ? '[email, lower]' : field}`),
    ...offered(CONTACT_EXAMPLES, spare),
    '# There is more: tags, properties, whether they subscribed, and to which lists (docs/mappings.md of Storeferry).',
  ];
}

/** A name for a column, made of its header: letters and digits, not yet taken. */
function wordFor(header: string, taken: Set<string>): string {
  const parts = header.match(/[\p{L}\p{N}]+/gu) ?? [];
  const word =
    parts
      .map((part, index) =>
        index === 0 ? part.toLowerCase() : part.charAt(0).toUpperCase() + part.slice(1).toLowerCase(),
      )
      .join('') || 'column';
  let unique = word;
  for (let number = 2; taken.has(unique); number++) unique = `${word}${number}`;
  taken.add(unique);
  return unique;
}
