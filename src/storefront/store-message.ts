/** Longest message of a store that we pass on, in characters. */
const MAX_LENGTH = 300;
/** Shorter than this, a key occurs in ordinary words. */
const SHORTEST_KEY = 4;

/** What separates words, and what has no business in a line of text: control, format and bidirectional marks. */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;
const INVISIBLE = /[\p{Cf}\p{Co}\p{Cs}\p{Cn}]/gu;

/** Makes a store's words fit to be logged and shown: one line, of bounded length, without our API key. */
export function cleanMessage(text: string, apiKey: string): string {
  const line = text
    .slice(0, 20 * MAX_LENGTH)
    .replace(BREAKS, ' ')
    .replace(INVISIBLE, '')
    .trim();
  const redacted = apiKey.length < SHORTEST_KEY ? line : line.replaceAll(apiKey, '[API key]');
  return redacted.length > MAX_LENGTH ? `${redacted.slice(0, MAX_LENGTH - 1)}…` : redacted;
}
