/** A name without what people write loosely: case, and white space, hyphens and underscores anywhere. */
export function loosened(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/[\s_\-\u200b\ufeff]+/g, '');
}
