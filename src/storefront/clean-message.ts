import { secretRedactor } from '../text/mask-personal-data.ts';
import { truncate } from '../text/printable.ts';

/** The longest message of a store that is shown, in characters. */
const MAX_MESSAGE_LENGTH = 300;
/** The number of characters that are searched for keys: far more than are shown, so that no cut key is among them. */
const MAX_CLEANED_LENGTH = 64 * 1_024;
/** Personal data is searched in so many characters, which end with a word: more than are shown, so that no cut name is among them. */
const MAX_MASKED_LENGTH = 1_024;

/**
 * Separators of words, and characters that do not belong in a line of text: control, format and bidirectional marks.
 */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;
const INVISIBLE = /[\p{Cf}\p{Co}\p{Cs}\p{Cn}]/gu;

interface Cleaning {
  /** In characters. */
  readonly length?: number;
  /** Removes personal data from the words. */
  readonly unnamed?: (words: string) => string;
}

/**
 * A text of the store that is safe to log and show: one line, of limited length, without our API key in any form. It
 * is cut last, because part of a key or a name would not be recognised.
 */
export function cleanMessage(
  text: string,
  apiKey: string,
  { length = MAX_MESSAGE_LENGTH, unnamed = (words) => words }: Cleaning = {},
): string {
  const key = secretRedactor('[API key]');
  key.add(apiKey);
  const line = text.slice(0, MAX_CLEANED_LENGTH).replace(BREAKS, ' ').replace(INVISIBLE, '').trim();
  const redacted = key.redact(line);
  const start = unnamed(wholeWords(redacted));
  if (start.length <= length && redacted.length <= MAX_MASKED_LENGTH) return start;
  return truncate(`${start}…`, length);
}

/** The start of a line, cut between words if there are several. */
function wholeWords(line: string) {
  if (line.length <= MAX_MASKED_LENGTH) return line;
  const end = line.lastIndexOf(' ', MAX_MASKED_LENGTH);
  return line.slice(0, end > 0 ? end : MAX_MASKED_LENGTH).replace(HALF_OF_PAIR, '');
}

const HALF_OF_PAIR = /[\ud800-\udbff]$/;
