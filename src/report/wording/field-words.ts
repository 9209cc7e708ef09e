/** `variants.regularPrice` as people say it: `variant regular price`. */
export function fieldWords(field: string): string {
  return field
    .split('.')
    .map((part, index, parts) => (index < parts.length - 1 && part.endsWith('s') ? part.slice(0, -1) : part))
    .map((part) => part.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase())
    .join(' ');
}
