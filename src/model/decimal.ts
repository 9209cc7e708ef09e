/** Behind which the digits of a quotient are cut off. */
const QUOTIENT_DIGITS = 24;
/** A number holds this many significant digits exactly. */
const NUMBER_DIGITS = 15;

/** Whole numbers below it have no more digits than that. */
const MAX_WHOLE = 10n ** BigInt(NUMBER_DIGITS);

/** Kept, since every calculation needs some of them. */
const POWERS = Array.from({ length: 64 }, (_, exponent) => 10n ** BigInt(exponent));

function powerOfTen(exponent: number) {
  return POWERS[exponent] ?? 10n ** BigInt(exponent);
}

/** A decimal number, exact: `units` divided by 10 to the power of `scale`. */
export class Decimal {
  readonly #units: bigint;
  readonly #scale: number;

  private constructor(units: bigint, scale: number) {
    this.#units = units;
    this.#scale = scale;
  }

  /** As the number reads in decimal: 0.1 is a tenth. The number must be finite. */
  static of(number: number): Decimal {
    if (Number.isSafeInteger(number)) return new Decimal(BigInt(number), 0);
    const [digits = '', exponent = '0'] = String(number).split('e');
    const [whole = '', fraction = ''] = digits.split('.');
    const scale = fraction.length - Number(exponent);
    const units = BigInt(whole + fraction);
    return scale < 0 ? new Decimal(units * powerOfTen(-scale), 0) : new Decimal(units, scale);
  }

  /** How many digits stand behind the point, as it was written. */
  get fractionDigits(): number {
    return this.#scale;
  }

  /** Below 0, 0, or above 0. */
  get sign(): number {
    return Number(this.#units > 0n) - Number(this.#units < 0n);
  }

  plus(other: Decimal): Decimal {
    const scale = Math.max(this.#scale, other.#scale);
    return new Decimal(this.#at(scale) + other.#at(scale), scale);
  }

  minus(other: Decimal): Decimal {
    return this.plus(other.negated());
  }

  times(other: Decimal): Decimal {
    return new Decimal(this.#units * other.#units, this.#scale + other.#scale);
  }

  /** The quotient, cut off after 24 digits behind the point. `other` is not 0. */
  dividedBy(other: Decimal): Decimal {
    const units = this.#units * powerOfTen(QUOTIENT_DIGITS + other.#scale);
    return new Decimal(units / (other.#units * powerOfTen(this.#scale)), QUOTIENT_DIGITS);
  }

  /** Without its sign. */
  get size(): Decimal {
    return this.sign < 0 ? this.negated() : this;
  }

  negated(): Decimal {
    return new Decimal(-this.#units, this.#scale);
  }

  /** Below 0 where this is the smaller one, above 0 where it is the greater one. */
  compare(other: Decimal): number {
    const scale = Math.max(this.#scale, other.#scale);
    const difference = this.#at(scale) - other.#at(scale);
    return Number(difference > 0n) - Number(difference < 0n);
  }

  /** How often `other` fits into this, rounded down. Both are positive. */
  wholeTimes(other: Decimal): Decimal {
    const scale = Math.max(this.#scale, other.#scale);
    return new Decimal(this.#at(scale) / other.#at(scale), 0);
  }

  /** Rounded half up to so many digits behind the point (-1: to tens); numbers below 0 as without their sign. */
  rounded(digits: number): Decimal {
    if (this.#scale <= digits) return this;
    const step = powerOfTen(this.#scale - digits);
    const half = this.#units < 0n ? -step / 2n : step / 2n;
    return new Decimal((this.#units + half) / step, digits);
  }

  /** As a number: rounded half up to 15 significant digits where it has more. */
  toNumber(): number {
    if (this.#scale === 0 && this.#units < MAX_WHOLE && this.#units > -MAX_WHOLE) return Number(this.#units);
    const surplus = String(this.#units).replace('-', '').length - NUMBER_DIGITS;
    const held = surplus > 0 ? this.rounded(this.#scale - surplus) : this;
    return Number(`${held.#units}e${-held.#scale}`);
  }

  #at(scale: number): bigint {
    return scale === this.#scale ? this.#units : this.#units * powerOfTen(scale - this.#scale);
  }
}
