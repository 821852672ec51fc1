// The four narrow types whose range the page shows, as numbers. Thresholds follow round to nearest, ties to even:
// half of the smallest subnormal still rounds to 0; the middle between the largest value and the next one that would
// follow it rounds up where the largest is odd (float16, bfloat16, float8_e5m2) and down where it is even (e4m3fn).

export type NarrowId = 'float16' | 'bfloat16' | 'float8_e4m3fn' | 'float8_e5m2';

export interface NarrowType {
  id: NarrowId;
  mantissaBits: number;
  minSubnormalExponent: number; // the smallest value is 2^this
  minNormalExponent: number; // below 2^this mantissa bits are lost
  max: number;
  zeroUpTo: number; // |x| <= this rounds to zero
  overflowFrom: number; // |x| from here on leaves the range ...
  overflowIncludesBorder: boolean; // ... this value itself included or not
}

export const kNarrowTypes: readonly NarrowType[] = [
  {
    id: 'float16',
    mantissaBits: 10,
    minSubnormalExponent: -24,
    minNormalExponent: -14,
    max: 65504,
    zeroUpTo: 2 ** -25,
    overflowFrom: 65520,
    overflowIncludesBorder: true,
  },
  {
    id: 'bfloat16',
    mantissaBits: 7,
    minSubnormalExponent: -133,
    minNormalExponent: -126,
    max: (2 - 2 ** -7) * 2 ** 127,
    zeroUpTo: 2 ** -134,
    overflowFrom: (2 - 2 ** -8) * 2 ** 127,
    overflowIncludesBorder: true,
  },
  {
    id: 'float8_e4m3fn',
    mantissaBits: 3,
    minSubnormalExponent: -9,
    minNormalExponent: -6,
    max: 448,
    zeroUpTo: 2 ** -10,
    overflowFrom: 464,
    overflowIncludesBorder: false,
  },
  {
    id: 'float8_e5m2',
    mantissaBits: 2,
    minSubnormalExponent: -16,
    minNormalExponent: -14,
    max: 57344,
    zeroUpTo: 2 ** -17,
    overflowFrom: 61440,
    overflowIncludesBorder: true,
  },
];

export function narrowType(id: string): NarrowType | null {
  return kNarrowTypes.find((type) => type.id === id) ?? null;
}

/** floor(log2 x) of a positive finite double, exact (Math.log2 may round across a power of two). */
export function exponentOf(x: number): number {
  let e = Math.floor(Math.log2(x));
  // 2 ** e is exact for the exponents that occur; correct the at most one step that log2 rounded.
  while (2 ** e > x) e -= 1;
  while (2 ** (e + 1) <= x) e += 1;
  return e;
}
