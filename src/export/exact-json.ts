/** May be a number with more digits than JavaScript's numbers have, beyond their range, or printed with an exponent; also matches such text. */
const MAY_LOSE_DIGITS = /\d[\d.]{15}|\d[eE][+-]?\d|0\.0{6}/;

/** Digits that a number would lose, kept as text. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Parses JSON. A number that JavaScript cannot represent exactly keeps its digits, which `exactText` returns. */
export function exactJson(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || keepsDigits(value, source)) return value;
    return new ExactNumber(source);
  });
}

/** A scalar of parsed JSON as text, with all digits of numbers; undefined for objects, arrays and null. */
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
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** Parsed JSON as JSON again, with all digits of numbers. */
export function exactStringify(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(exactStringify).join(',')}]`;
  if (value === undefined) return 'null';
  if (!isPlainObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, part]) => `${JSON.stringify(name)}:${exactStringify(part)}`,
  );
  return `{${members.join(',')}}`;
}

/** Whether the number as JavaScript prints it has the same digits, apart from insignificant zeros. */
function keepsDigits(value: number, source: string) {
  const written = String(value);
  if (written === source) return true;
  return !/[eE]/.test(source + written) && significant(written) === significant(source);
}

function significant(number: string) {
  return number.includes('.') ? number.replace(/\.?(?<!0)0+$/, '') : number;
}
