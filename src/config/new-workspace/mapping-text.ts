import type { MappingProposal } from '../../mapping/guess/propose-mapping.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { schemaLine, yamlText } from './yaml-text.ts';

/** A new mapping that was proposed for a file. */
export interface StarterMapping {
  readonly name: string;
  /** The name of the file, for people. */
  readonly file: string;
  readonly header: readonly string[];
  /** What the guesses rest on, and the mapping itself. */
  readonly proposal: Pick<MappingProposal, 'evidence' | 'notes'>;
  readonly spec: MappingSpec;
}

/** A mapping file with the evidence of each guess as a comment, and the columns that are not used, to be added. */
export function mappingText({ file, header, proposal, spec }: StarterMapping): string {
  const { import: imports, columns, tests: _, ...parts } = spec;
  const used = Object.entries(columns);
  const taken = new Set(used.flatMap(([, column]) => headersOf(column)));
  const words = new Set(used.map(([name]) => name));
  const others = [...new Set(header.map((text) => text.trim()))].filter(
    (text) => text !== '' && !taken.has(text),
  );
  const lines = [
    schemaLine('mapping', '../'),
    `# How the rows of ${inLine(file)} become ${imports}. docs/mappings.md of Storeferry describes the format;`,
    `# storeferry check   shows what is wrong with it, and runs its tests`,
    '# It was proposed by the headers and the values of the file: change what is wrong.',
    ...proposal.notes.map((note) => `#   ${inLine(note)}`),
    `import: ${imports}`,
    'columns: # a name for each column that is used, and its header in the file',
    ...used.map(
      ([name, column]) =>
        `  ${yamlText(name)}: ${flow(column)} # ${inLine(proposal.evidence[name] ?? 'the file has it')}`,
    ),
    ...(others.length === 0
      ? []
      : ['  # The other columns of the file; remove the # where you use one below.']),
    ...others.map((text) => `  # ${yamlText(wordFor(text, words))}: ${yamlText(text)}`),
    ...Object.entries(parts).flatMap(([key, part]) => partLines(key, part)),
    '# There is more: price rules, look-ups, conditions, and products over several rows (docs/mappings.md of Storeferry).',
    '',
    '# Rows of the file, and what must be sent for them; storeferry check compares it with what the mapping gives.',
    '# tests:',
    '#   - name: a row of the file',
    '#     rows: |',
    `#       ${inLine(header.slice(0, 4).join(','))}`,
    '#       …',
    '#     expect:',
    `#       - sends: { ${imports === 'products' ? 'title' : 'email'}: … }`,
  ];
  return `${lines.join('\n')}\n`;
}

/** A part of the mapping: a map has a line for each of its keys. */
function partLines(key: string, part: unknown): string[] {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return [`${key}: ${flow(part)}`];
  const about = key === 'product' ? ' # url is the key: the same url is the same product in every run' : '';
  return [
    `${key}:${about}`,
    ...Object.entries(part).map(([name, value]) => `  ${yamlText(name)}: ${flow(value)}`),
  ];
}

/** A value in one line. */
function flow(value: unknown): string {
  if (typeof value === 'string') return yamlText(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${yamlText(key)}: ${flow(one)}`);
  return `{ ${entries.join(', ')} }`;
}

function inLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

function headersOf(column: MappingSpec['columns'][string]): readonly string[] {
  const written = typeof column === 'object' && 'header' in column ? column.header : column;
  return typeof written === 'string' ? [written] : written;
}

/** A name for a column, made from its header: letters and digits, not yet used. */
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
