// Rounding to the narrow types from their definition (bits of mantissa, exponent range), value by value. Written apart
// from src/model on purpose: the page's numbers are checked against this.

export const kFormats = {
  float16: { mantissa: 10, minExponent: -14, max: 65504 },
  bfloat16: { mantissa: 7, minExponent: -126, max: 2 ** 127 * (2 - 2 ** -7) },
  float8_e4m3fn: { mantissa: 3, minExponent: -6, max: 448 },
  float8_e5m2: { mantissa: 2, minExponent: -14, max: 57344 },
} as const;

export type FormatId = keyof typeof kFormats;
export const kFormatIds = Object.keys(kFormats) as FormatId[];

function halfEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

/** x rounded to nearest, ties to even; Infinity where the result leaves the range. */
export function roundTo(x: number, id: FormatId): number {
  if (x === 0 || !Number.isFinite(x)) return x;
  const format = kFormats[id];
  const a = Math.abs(x);
  let e = Math.floor(Math.log2(a));
  if (2 ** e > a) e -= 1;
  if (2 ** (e + 1) <= a) e += 1;
  const unit = 2 ** (Math.max(e, format.minExponent) - format.mantissa);
  const rounded = halfEven(a / unit) * unit;
  return Math.sign(x) * (rounded > format.max ? Infinity : rounded);
}

/** How many of the values would become 0 or leave the range if multiplied by 2^k and rounded. */
export function lossesAt(values: number[], k: number, id: FormatId): { flushed: number; overflowed: number } {
  let flushed = 0;
  let overflowed = 0;
  for (const value of values) {
    if (value === 0 || !Number.isFinite(value)) continue;
    const rounded = roundTo(value * 2 ** k, id);
    if (rounded === 0) flushed += 1;
    if (!Number.isFinite(rounded)) overflowed += 1;
  }
  return { flushed, overflowed };
}

/** Statistics of a tensor as a report holds them, from its values. */
export function statisticsOf(values: number[]) {
  const finite = values.filter((v) => Number.isFinite(v) && v !== 0).map(Math.abs);
  const exponents = finite.map((a) => {
    let e = Math.floor(Math.log2(a));
    if (2 ** e > a) e -= 1;
    if (2 ** (e + 1) <= a) e += 1;
    return e;
  });
  const first = exponents.reduce((a, b) => Math.min(a, b), Infinity);
  const last = exponents.reduce((a, b) => Math.max(a, b), -Infinity);
  const counts = finite.length ? new Array<number>(last - first + 1).fill(0) : [];
  for (const e of exponents) counts[e - first] += 1;
  const shares = (of: 'flushed' | 'overflowed') =>
    Object.fromEntries(kFormatIds.map((id) => [id, values.length ? lossesAt(values, 0, id)[of] / values.length : 0]));
  return {
    count: values.length,
    zero: values.filter((v) => v === 0).length,
    nan: values.filter(Number.isNaN).length,
    pos_inf: values.filter((v) => v === Infinity).length,
    neg_inf: values.filter((v) => v === -Infinity).length,
    min_abs_nonzero: finite.length ? finite.reduce((a, b) => Math.min(a, b)) : null,
    max_abs: finite.length ? finite.reduce((a, b) => Math.max(a, b)) : null,
    exponent: { first: finite.length ? first : 0, counts },
    underflow: shares('flushed'),
    overflow: shares('overflowed'),
  };
}
