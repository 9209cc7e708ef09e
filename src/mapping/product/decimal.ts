/** How many digits stand behind the point; numbers in exponent form count as having many. */
function fractionDigits(value: number): number {
  const text = String(value);
  const point = text.indexOf('.');
  return text.includes('e') ? 12 : point < 0 ? 0 : text.length - point - 1;
}

/** Rounds half up to so many digits, as the decimal number reads (1.005 is 1.01, though its binary form is less). */
export function roundTo(value: number, digits: number): number {
  const scaled = Number(`${Math.abs(value)}e${digits}`);
  if (!Number.isFinite(scaled)) return value;
  // Products of decimals end in binary noise (2.675 * 100 is 267.49999999999997): a billionth takes it off.
  const rounded = Number(`${Math.floor(scaled + 0.5 + 1e-9)}e-${digits}`);
  return value < 0 ? -rounded : rounded;
}

/** Rounds to cents, or as finely as the price it came from. */
export function roundDecimal(value: number, like: number): number {
  return roundTo(value, Math.max(2, fractionDigits(like)));
}

/** The sum as a decimal: 0.1 and 0.2 are 0.3. */
export function addDecimals(a: number, b: number): number {
  return roundTo(a + b, Math.max(fractionDigits(a), fractionDigits(b)));
}
