/** Control characters, and those that turn the direction of text: in a terminal they would act instead of show. */
const ACTING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** Text of a source or a store, harmless on a terminal: keys and messages may hold escape sequences. */
export function printable(text: string): string {
  return text.replaceAll(ACTING, ' ').toWellFormed();
}

/** The same of a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** At most so many letters, the last of them an ellipsis when something was cut. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
