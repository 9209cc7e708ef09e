/** May be a number with more digits than JavaScript's numbers keep, or beyond their range; also matches such text. */
const MAY_LOSE_DIGITS = /\d[\d.]{15}|\d[eE][+-]?\d/;

/** Digits that a number would lose, kept as text. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Parses JSON; a number that JavaScript cannot hold exactly is kept by its digits, which `exactText` gives. */
export function exactJson(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || keepsDigits(value, source)) return value;
    return new ExactNumber(source);
  });
}

/** A scalar of parsed JSON as text, numbers with all their digits; undefined for objects, arrays and null. */
export function exactText(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return value instanceof ExactNumber ? value.text : undefined;
  }
}

/** Whether it is an object of parsed JSON: neither an array nor a number. */
export function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** Parsed JSON as JSON again, numbers with all their digits. */
export function exactStringify(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(exactStringify).join(',')}]`;
  if (value === undefined) return 'null';
  if (!isMembers(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, part]) => `${JSON.stringify(name)}:${exactStringify(part)}`,
  );
  return `{${members.join(',')}}`;
}

/** Whether the number as JavaScript writes it has the same digits, apart from zeros that mean nothing. */
function keepsDigits(value: number, source: string): boolean {
  const written = String(value);
  if (written === source) return true;
  return !/[eE]/.test(source + written) && significant(written) === significant(source);
}

function significant(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}
