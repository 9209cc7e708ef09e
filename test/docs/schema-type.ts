import type { JsonSchema } from '../../src/config/workspace.ts';

type Node = JsonSchema | boolean;

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'true/false',
  null: 'nothing',
};

/** A value as Markdown code, not for tables. */
export function code(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `\`${text.replaceAll('\t', '\\t')}\``;
}

/** The branches of a union, those within branches included; a schema that is no union is its own only branch. */
export function branchesOf(node: JsonSchema): JsonSchema[] {
  const { anyOf, oneOf, allOf } = node;
  const inner = [...(anyOf ?? []), ...(oneOf ?? []), ...(allOf?.length === 1 ? allOf : [])];
  return inner.length === 0 ? [node] : inner.flatMap(branchesOf);
}

/** What may stand in a place, in words; `nameOf` names what a reference leads to. */
export function schemaType(node: Node | undefined, nameOf: (reference: string) => string): string {
  if (node === undefined || typeof node === 'boolean') return 'anything';
  const branches = branchesOf(node).map((branch) => branchType(branch, nameOf));
  const types = [...new Set(branches)];
  const [last, ...before] = types.toReversed();
  const others = inWords(before.toReversed());
  // `text or list of text` says the same twice.
  return last !== undefined && others !== '' && last === `list of ${others}`
    ? `${others} or list`
    : inWords(types);
}

/** `text`, `text or number`, `text, number or true/false`. */
function inWords(types: readonly string[]): string {
  const [last = '', ...before] = types.toReversed();
  return before.length === 0 ? last : `${before.toReversed().join(', ')} or ${last}`;
}

function branchType(node: JsonSchema, nameOf: (reference: string) => string): string {
  const { $ref, title, const: constant, enum: words, type, items, additionalProperties, properties } = node;
  if ($ref !== undefined) return nameOf($ref);
  if (title !== undefined) return title;
  if (constant !== undefined) return code(constant);
  if (words !== undefined) return words.map(code).join(', ');
  if (Array.isArray(type)) return inWords(type.map((each) => WORDS[each] ?? each));
  if (type === 'array') {
    const of = items === undefined || Array.isArray(items) ? '' : ` of ${schemaType(items, nameOf)}`;
    return `list${of}`;
  }
  if (type === 'object') {
    return properties !== undefined || typeof additionalProperties !== 'object'
      ? 'map'
      : `map of ${schemaType(additionalProperties, nameOf)}`;
  }
  return type === undefined ? 'anything' : (WORDS[type] ?? type);
}
