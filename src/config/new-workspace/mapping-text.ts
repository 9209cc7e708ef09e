import type { MappingSpec } from '../mapping/mapping-spec.ts';
import { schemaLine, yamlText } from './yaml-text.ts';

/** What is to be said in a mapping that its user will complete. */
export interface StarterMapping {
  readonly name: string;
  readonly imports: MappingSpec['import'];
  /** What people call the file. */
  readonly file: string;
  readonly header: readonly string[];
  /** Fields, with the columns that likely hold them. */
  readonly suggested: readonly { readonly field: string; readonly header: string | undefined }[];
}

/** Stands for a header that is yet to be chosen: no file has it, so nothing is imported by mistake. */
const TO_BE_CHOSEN = 'TO BE CHOSEN';

/** The fields without which nothing can be planned. */
export const NEEDED_FIELDS: Readonly<Record<MappingSpec['import'], readonly string[]>> = {
  products: ['title', 'price'],
  contacts: ['email'],
};

/** The needed fields for which no column was found. */
export function toBeChosen({ imports, suggested }: StarterMapping): readonly string[] {
  const required = NEEDED_FIELDS[imports];
  return suggested
    .filter(({ field, header }) => required.includes(field) && header === undefined)
    .map(({ field }) => field);
}

/** A commented mapping of one's own to begin with: what was found is in use, all other columns are listed. */
export function mappingText(starter: StarterMapping): string {
  const { imports, file, header, suggested } = starter;
  const required = NEEDED_FIELDS[imports];
  const used = suggested.filter((one) => one.header !== undefined || required.includes(one.field));
  const taken = new Set(used.map((one) => one.header));
  const fields = used.map(({ field }) => field);
  const words = new Set(fields);
  const others = [...new Set(header.map((text) => text.trim()))].filter(
    (text) => text !== '' && !taken.has(text),
  );
  const lines = [
    schemaLine('mapping', '../'),
    `# How the rows of ${file.replaceAll(/\p{Cc}+/gu, ' ')} become ${imports}. docs/mappings.md of Storeferry has all its words;`,
    `# storeferry check   says what is wrong with it, and runs its tests`,
    `import: ${imports}`,
    'columns: # a word of your own for each column that you use, and its header in the file',
    ...used.map((one) =>
      one.header === undefined
        ? `  ${one.field}: ${TO_BE_CHOSEN} # put the right header here`
        : `  ${one.field}: ${yamlText(one.header)}`,
    ),
    ...(others.length === 0
      ? []
      : ['  # The other columns of the file; remove the # where you use one below.']),
    ...others.map((text) => `  # ${yamlText(wordFor(text, words))}: ${yamlText(text)}`),
    `required: [${required.join(', ')}] # a file without these is not of this format`,
    '',
    ...(imports === 'products' ? productLines(fields) : contactLines(fields)),
    '',
    '# Rows as they stand in the file, and what is to be sent for them; storeferry check holds it against the mapping.',
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

function productLines(fields: readonly string[]): string[] {
  const inUse = (key: string, line: string) => `  ${fields.includes(key) ? '' : '# '}${line}`;
  return [
    'product:',
    '  # The key: the same url is the same product, night after night. Take what never changes, and is there once.',
    `  url: ${fields.includes('sku') ? '[sku, slug]' : '[title, slug]'}`,
    '  title: title',
    inUse('description', 'description: description'),
    '  # images: [photo, { split: "," }]',
    '  # hidden: { published: no }',
    'variants:',
    '  pricing: { price: price } # decimal comma: { price: [price, { number: { decimal: "," } }] }',
    inUse('sku', 'sku: sku'),
    inUse('quantity', 'quantity: [quantity, integer]'),
    '  # weight: { value: grams, unit: g }',
    '# One product over several rows (sizes, colours): group them by the column that they share.',
    '# group: { by: sku, rows: anywhere }',
  ];
}

function contactLines(fields: readonly string[]): string[] {
  return [
    'contact:',
    ...fields.map((field) => `  ${field}: ${field === 'email' ? '[email, lower]' : field}`),
    '  # tags: [tags, { split: "," }]',
    '  # subscribed: { newsletter: yes }',
    '  # properties: { fields: { Birthday: birthday } }',
  ];
}

/** A word for a column, made of its header: letters and digits, not yet taken. */
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
