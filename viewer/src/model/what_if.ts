// What would flush to zero or leave the range of a narrow type if the values were multiplied by 2^k: pure functions
// over an exponent histogram. A power of two moves whole bins, so only the one bin that a border cuts is uncertain; the
// answer is therefore a bound [low, high], narrowed by everything else the report knows: smallest and largest value,
// exact counts at the recorded scale, and the grid of the type in which the tensor is stored.

import type { TensorStat } from './report.ts';
import { exponentOf, kNarrowTypes, narrowType, type NarrowType } from './narrow_types.ts';

export interface Bound {
  low: number;
  high: number;
}

/** Exactly `atMost` of the non-zero finite values have |x| < t, or <= t if `inclusive`. */
interface Anchor {
  t: number;
  inclusive: boolean;
  atMost: number;
}

export interface Distribution {
  count: number; // all elements
  zero: number;
  nonFinite: number;
  first: number; // exponent of counts[0]
  counts: number[];
  nonZero: number; // finite and not zero: the sum of counts
  minAbs: number | null;
  maxAbs: number | null;
  stored: NarrowType | null; // the grid on which all values lie
  anchors: Anchor[];
}

const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);

export function distributionOf(t: TensorStat): Distribution {
  const nonZero = sum(t.exponent.counts);
  const anchors: Anchor[] = [];
  for (const type of kNarrowTypes) {
    const under = t.underflow[type.id];
    const over = t.overflow[type.id];
    // Shares are exact counts divided by `count`, so that rounding gives the count back.
    if (under !== null) anchors.push({ t: type.zeroUpTo, inclusive: true, atMost: Math.round(under * t.count) });
    if (over !== null) {
      const inclusive = !type.overflowIncludesBorder;
      anchors.push({ t: type.overflowFrom, inclusive, atMost: nonZero - Math.round(over * t.count) });
    }
  }
  return {
    count: t.count,
    zero: t.zero,
    nonFinite: t.nan + t.pos_inf + t.neg_inf,
    first: t.exponent.first,
    counts: t.exponent.counts,
    nonZero,
    minAbs: t.min_abs_nonzero,
    maxAbs: t.max_abs,
    stored: narrowType(t.dtype),
    anchors,
  };
}

function mergedAnchors(parts: Distribution[]): Anchor[] {
  const same = (a: Anchor, b: Anchor) => a.t === b.t && a.inclusive === b.inclusive;
  return parts[0].anchors.flatMap((anchor) => {
    const all = parts.map((part) => part.anchors.find((other) => same(other, anchor)));
    if (all.some((a) => a === undefined)) return [];
    return [{ ...anchor, atMost: sum(all.map((a) => (a as Anchor).atMost)) }];
  });
}

/** The values of several tensors taken as one; they must carry the same scale. */
export function merge(parts: Distribution[]): Distribution {
  const filled = parts.filter((part) => part.counts.length > 0);
  const first = filled.length ? Math.min(...filled.map((part) => part.first)) : 0;
  const last = filled.length ? Math.max(...filled.map((part) => part.first + part.counts.length)) : 0;
  const counts = new Array<number>(last - first).fill(0);
  for (const part of filled) part.counts.forEach((n, i) => (counts[part.first - first + i] += n));
  const mins = parts.flatMap((part) => (part.minAbs === null ? [] : [part.minAbs]));
  const maxs = parts.flatMap((part) => (part.maxAbs === null ? [] : [part.maxAbs]));
  const stored = parts.length ? parts[0].stored : null;
  return {
    count: sum(parts.map((part) => part.count)),
    zero: sum(parts.map((part) => part.zero)),
    nonFinite: sum(parts.map((part) => part.nonFinite)),
    first,
    counts,
    nonZero: sum(counts),
    minAbs: mins.length ? Math.min(...mins) : null,
    maxAbs: maxs.length ? Math.max(...maxs) : null,
    stored: parts.every((part) => part.stored === stored) ? stored : null,
    anchors: parts.length ? mergedAnchors(parts) : [],
  };
}

/** Of the values of the bin that t cuts: all, none or some of them below t, as far as the stored type's grid tells. */
function cutBin(type: NarrowType, exponent: number, t: number, inclusive: boolean): 'all' | 'none' | 'some' {
  const step = 2 ** (Math.max(exponent, type.minNormalExponent) - type.mantissaBits);
  const lowest = 2 ** exponent;
  const highest = lowest * 2 - step;
  if (highest < t || (inclusive && highest === t)) return 'all';
  if (lowest > t || (!inclusive && lowest === t)) return 'none';
  return 'some';
}

/** How many non-zero finite values have |x| < t (<= t if inclusive). */
export function countBelow(d: Distribution, t: number, inclusive: boolean): Bound {
  if (!(t > 0)) return { low: 0, high: 0 };
  if (d.maxAbs !== null && (d.maxAbs < t || (inclusive && d.maxAbs === t))) return { low: d.nonZero, high: d.nonZero };
  if (d.minAbs !== null && (d.minAbs > t || (!inclusive && d.minAbs === t))) return { low: 0, high: 0 };
  const cut = exponentOf(t);
  let low = 0;
  let inCut = 0;
  d.counts.forEach((n, i) => {
    if (d.first + i < cut) low += n;
    if (d.first + i === cut) inCut = n;
  });
  let high = low + inCut;
  // The border of a bin belongs to the bin above it: below 2^cut lies nothing of the bin itself.
  if (!inclusive && t === 2 ** cut) high = low;
  if (inCut > 0 && d.stored) {
    const part = cutBin(d.stored, cut, t, inclusive);
    if (part === 'all') low = high = low + inCut;
    if (part === 'none') high = low;
  }
  // min <= t and max > t here, so at least one value lies on each side.
  if (d.minAbs !== null) low = Math.max(low, 1);
  if (d.maxAbs !== null) high = Math.min(high, d.nonZero - 1);
  for (const anchor of d.anchors) {
    const reachesT = anchor.t < t || (anchor.t === t && (inclusive || !anchor.inclusive));
    const coversT = anchor.t > t || (anchor.t === t && (anchor.inclusive || !inclusive));
    if (reachesT) low = Math.max(low, anchor.atMost);
    if (coversT) high = Math.min(high, anchor.atMost);
  }
  return { low: Math.min(low, high), high: Math.max(low, high) };
}

/** Non-zero values that would round to zero in `type` after multiplication by 2^k. */
export function flushed(d: Distribution, type: NarrowType, k: number): Bound {
  return countBelow(d, type.zeroUpTo * 2 ** -k, true);
}

/** Finite values that would become infinite, or leave the range of a type without infinity. */
export function overflowed(d: Distribution, type: NarrowType, k: number): Bound {
  const inside = countBelow(d, type.overflowFrom * 2 ** -k, !type.overflowIncludesBorder);
  return { low: d.nonZero - inside.high, high: d.nonZero - inside.low };
}

/** Values that survive, but among the subnormals, where mantissa bits are lost. */
export function subnormal(d: Distribution, type: NarrowType, k: number): Bound {
  const below = countBelow(d, 2 ** type.minNormalExponent * 2 ** -k, false);
  const lost = flushed(d, type, k);
  return { low: Math.max(0, below.low - lost.high), high: Math.max(0, below.high - lost.low) };
}

export const isExact = (b: Bound): boolean => b.low === b.high;

export interface Suggestion {
  best: number; // the largest k without overflow: what flushes to zero only falls with k
  from: number; // the smallest k that flushes no more than `best`
  flushedAtBest: Bound;
}

/** The power of two that loses least without any overflow; null if there is no value to lose. */
export function suggest(d: Distribution, type: NarrowType): Suggestion | null {
  if (d.nonZero === 0 || d.maxAbs === null) return null;
  let best = exponentOf(type.max) - exponentOf(d.maxAbs) + 1;
  while (overflowed(d, type, best).high > 0) best -= 1;
  const atBest = flushed(d, type, best);
  let from = best;
  while (from > best - 400 && flushed(d, type, from - 1).high === atBest.high) from -= 1;
  return { best, from, flushedAtBest: atBest };
}
