// The exponent histogram with the ranges of the four narrow types above it. The bars move with the slider (2^k), the
// ranges stand still: what leaves a range is what that type would lose.

import * as f from '../lib/format.ts';
import { s, type Child } from '../lib/dom.ts';
import { dtypeFamily } from '../lib/dtype_color.ts';
import { exponentOf, kNarrowTypes, type NarrowType } from '../model/narrow_types.ts';
import type { Distribution } from '../model/what_if.ts';

export interface HistogramState {
  distribution: Distribution;
  shift: number; // k
  chosen: NarrowType;
  log: boolean;
}

const kTypeRow = 19;
const kTop = 8 + kNarrowTypes.length * kTypeRow + 8;
const kPlot = 210;
const kBottom = 40;
export const kHistogramHeight = kTop + kPlot + kBottom;
const kLeft = 118;
const kRight = 14;

/** The exponents shown: all of float16's range, and the data without any shift. */
export function domainOf(d: Distribution): { low: number; high: number } {
  const low = d.counts.length ? Math.max(d.first, -150) : 0;
  const high = d.counts.length ? Math.min(d.first + d.counts.length, 129) : 0;
  return { low: Math.min(low, -28) - 3, high: Math.max(high, 18) + 3 };
}

/** What becomes of the bin [2^e, 2^(e+1)) in `type`: the worst that can befall one of its values. */
export function fateOf(type: NarrowType, exponent: number): 'flush' | 'sub' | 'normal' | 'over' {
  if (exponent < type.minSubnormalExponent - 1) return 'flush';
  // The bin from half of the smallest subnormal on: only that half itself goes to zero, the rest rounds up.
  if (exponent < type.minNormalExponent) return 'sub';
  return exponent > exponentOf(type.max) ? 'over' : 'normal';
}

function typeRows(state: HistogramState, x: (e: number) => number, low: number, high: number): Child[] {
  return kNarrowTypes.map((type, i) => {
    const y = 8 + i * kTypeRow;
    const clip = (e: number) => x(Math.min(high, Math.max(low, e)));
    const top = exponentOf(type.max) + 1;
    const color = `f-${dtypeFamily(type.id)}`;
    const beyond = (from: number, to: number) => (from < low ? '◂' : '') + (to > high ? '▸' : '');
    return s(
      'g',
      {},
      s(
        'text',
        { x: kLeft - 8, y: y + 11, 'text-anchor': 'end', class: type === state.chosen ? 'strong' : '' },
        type.id,
      ),
      s('rect', {
        x: clip(type.minSubnormalExponent),
        y: y + 2,
        width: Math.max(0, clip(type.minNormalExponent) - clip(type.minSubnormalExponent)),
        height: 11,
        class: `${color} range-sub`,
      }),
      s('rect', {
        x: clip(type.minNormalExponent),
        y: y + 2,
        width: Math.max(0, clip(top) - clip(type.minNormalExponent)),
        height: 11,
        class: `${color} range-normal`,
      }),
      s('text', { x: clip(top) - 4, y: y + 11.5, 'text-anchor': 'end' }, beyond(type.minSubnormalExponent, top)),
      s(
        'title',
        {},
        `${type.id}: subnormal from 2^${type.minSubnormalExponent}, normal from 2^${type.minNormalExponent}, largest ${f.magnitude(type.max)}`,
      ),
    );
  });
}

function bars(state: HistogramState, x: (e: number) => number, low: number, high: number): Child[] {
  const d = state.distribution;
  const most = Math.max(1, ...d.counts);
  const scale = (n: number) => (state.log ? Math.log(n + 1) / Math.log(most + 1) : n / most);
  const width = Math.max(1, x(1) - x(0) - 1);
  return d.counts.map((n, i) => {
    const e = d.first + i + state.shift;
    if (n === 0 || e < low || e >= high) return null;
    const height = Math.max(1, scale(n) * (kPlot - 14));
    const share = f.percent(d.count ? n / d.count : 0);
    return s(
      'rect',
      {
        x: x(e) + 0.5,
        y: kTop + kPlot - height,
        width,
        height,
        class: `b-${fateOf(state.chosen, e)}`,
        'data-exponent': e,
      },
      s('title', {}, `[2^${e}, 2^${e + 1}): ${f.integer(n)} values, ${share}`),
    );
  });
}

function outside(state: HistogramState, low: number, high: number): Child[] {
  const d = state.distribution;
  let below = 0;
  let above = 0;
  d.counts.forEach((n, i) => {
    const e = d.first + i + state.shift;
    if (e < low) below += n;
    if (e >= high) above += n;
  });
  return [
    below > 0 && s('text', { x: kLeft + 4, y: kTop + 12 }, `◂ ${f.integer(below)} further left`),
    above > 0 && s('text', { x: '99%', y: kTop + 12, 'text-anchor': 'end' }, `${f.integer(above)} further right ▸`),
  ];
}

export function drawHistogram(state: HistogramState, width: number): Child[] {
  const { low, high } = domainOf(state.distribution);
  const x = (e: number) => kLeft + ((e - low) / (high - low)) * (width - kLeft - kRight);
  const type = state.chosen;
  const every = [1, 2, 4, 8, 16, 32].find((n) => ((width - kLeft - kRight) / (high - low)) * n > 32) ?? 64;
  const labels: Child[] = [];
  for (let e = Math.ceil(low / every) * every; e <= high; e += every) {
    labels.push(
      s('line', { x1: x(e), x2: x(e), y1: kTop, y2: kTop + kPlot, class: 'grid' }),
      s('text', { x: x(e), y: kTop + kPlot + 15, 'text-anchor': 'middle' }, f.pow2(e)),
    );
  }
  const border = (e: number, text: string, anchor: string) =>
    e > low && e < high
      ? [
          s('line', { x1: x(e), x2: x(e), y1: 4, y2: kTop + kPlot, class: 'marker' }),
          s('text', { x: x(e) + (anchor === 'end' ? -4 : 4), y: kTop + 12, 'text-anchor': anchor, class: 'bad' }, text),
        ]
      : null;
  return [
    ...labels,
    ...typeRows(state, x, low, high),
    ...bars(state, x, low, high),
    border(type.minSubnormalExponent - 1, '→ 0', 'end'),
    border(Math.log2(type.overflowFrom), type.id === 'float8_e4m3fn' ? '→ NaN' : '→ ∞', 'start'),
    s('line', { x1: kLeft, x2: width - kRight, y1: kTop + kPlot + 0.5, y2: kTop + kPlot + 0.5, class: 'axis' }),
    s('text', { x: kLeft - 8, y: kTop + kPlot - 2, 'text-anchor': 'end' }, state.log ? 'count (log)' : 'count'),
    s('text', { x: kLeft - 8, y: kTop + kPlot + 15, 'text-anchor': 'end' }, 'magnitude |x|'),
    s(
      'text',
      { x: (kLeft + width) / 2, y: kTop + kPlot + 33, 'text-anchor': 'middle' },
      `${f.integer(state.distribution.zero)} zeros and ${f.integer(state.distribution.nonFinite)} NaN or infinite elements are not in the bars`,
    ),
    ...outside(state, low, high),
  ];
}
