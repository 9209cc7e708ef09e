/**
 * At most this many characters; a shortened text ends with an ellipsis. The cut is not within a surrogate pair, a letter
 * with its marks, or a joined emoji.
 */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  let end = length - 1;
  while (end > 0 && (CONTINUES.test(text.slice(end, end + 2)) || text[end - 1] === JOINER)) end -= 1;
  return `${text.slice(0, end)}…`;
}

const JOINER = '\u200d';
const CONTINUES = /^(?:[\udc00-\udfff]|\p{M}|\p{EMod}|\u200d)/u;
