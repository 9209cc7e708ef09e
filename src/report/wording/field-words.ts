/** `variants.regularPrice` as people say it: `variant regular price`. */
export function fieldWords(field: string): string {
  return field
    .split('.')
    .map((part, index, parts) => (index < parts.length - 1 ? singular(part) : part))
    .map((part) => part.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase())
    .join(' ');
}

function singular(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}
