/**
 * The elements of the first array in a JSON text that is one, or that is an object whose member `items` is one; each
 * as it was written, on one line: line breaks outside of strings mean nothing in JSON. The text must be valid JSON.
 */
export function arrayItemTexts(json: string): string[] {
  const start = arrayStart(json);
  if (start < 0) return [];
  const texts: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start + 1; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        break;
      case CLOSE_BRACE:
        depth--;
        break;
      case CLOSE_BRACKET:
        if (depth > 0) {
          depth--;
          break;
        }
        pushText(texts, json.slice(from, at));
        return texts;
      case COMMA:
        if (depth > 0) break;
        pushText(texts, json.slice(from, at));
        from = at + 1;
        break;
      default:
    }
  }
  return texts;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function pushText(texts: string[], text: string): void {
  const line = text.trim().replaceAll(/[\r\n]+/g, ' ');
  if (line !== '') texts.push(line);
}

/** Where the string that begins at `start` ends: its closing quote. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

/** The bracket that opens the array: the text's own, or that of its last member `items`, as JSON.parse decides. */
function arrayStart(json: string): number {
  const first = /\S/.exec(json.charCodeAt(0) === 0xfeff ? json.slice(1) : json)?.[0];
  if (first === '[') return json.indexOf('[');
  let found = -1;
  let depth = 0;
  let key: string | null = null;
  for (let at = json.indexOf('{'); at >= 0 && at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(json, at);
        if (depth === 1 && key === null) key = json.slice(at + 1, end);
        at = end;
        break;
      }
      case OPEN_BRACKET:
        if (depth === 1 && isItemsKey(key)) found = at;
        depth++;
        break;
      case OPEN_BRACE:
        depth++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COMMA:
        if (depth === 1) key = null;
        break;
      default:
    }
  }
  return found;
}

function isItemsKey(key: string | null): boolean {
  return key !== null && JSON.parse(`"${key}"`) === 'items';
}
