// Every step of the run as a bar: ops, casts, and what is neither (loading, host code, the tool's sampling). The
// timeline shows a selection; this shows whether that selection is typical.

import * as f from '../lib/format.ts';
import { h, s, type Child } from '../lib/dom.ts';
import { responsive, ticks } from '../lib/chart.ts';
import type { Step } from '../model/report.ts';

const kLeft = 82;
const kRight = 16;
const kTop = 10;
const kPlot = 120;
const kHeight = kTop + kPlot + 26;

interface Bar {
  first: number;
  last: number;
  total: number;
  ops: number;
  casts: number;
  sampled: boolean;
}

/** At most `most` bars; one that stands for several steps shows the longest of them. */
export function stepBars(steps: Step[], most: number): Bar[] {
  const known = steps.filter((step) => step.dur_ns !== null);
  const each = Math.max(1, Math.ceil(known.length / Math.max(1, most)));
  const bars: Bar[] = [];
  for (let i = 0; i < known.length; i += each) {
    const group = known.slice(i, i + each);
    const longest = group.reduce((a, b) => ((b.dur_ns ?? 0) > (a.dur_ns ?? 0) ? b : a));
    bars.push({
      first: group[0].step,
      last: group[group.length - 1].step,
      total: longest.dur_ns ?? 0,
      ops: longest.ops_ns ?? 0,
      casts: longest.cast_ns ?? 0,
      sampled: group.some((step) => step.sampled),
    });
  }
  return bars;
}

function barTitle(bar: Bar): string {
  const which = bar.first === bar.last ? `step ${bar.first}` : `steps ${bar.first} to ${bar.last}, the longest`;
  return `${which}: ${f.duration(bar.total)}, ops ${f.duration(bar.ops)}, casts ${f.duration(bar.casts)}`;
}

function drawBars(bars: Bar[], width: number): Child[] {
  // One slow step (the first, mostly) must not flatten the others: the axis ends a little above all but the slowest.
  const lengths = bars.map((bar) => bar.total).sort((a, b) => a - b);
  const usual = lengths[Math.floor((lengths.length - 1) * 0.98)];
  const most = Math.max(1, Math.min(lengths[lengths.length - 1], usual * 1.5));
  const y = (ns: number) => kTop + (1 - Math.min(1, ns / most)) * kPlot;
  const each = (width - kLeft - kRight) / bars.length;
  const rect = (i: number, from: number, to: number, kind: string) =>
    s('rect', {
      x: kLeft + i * each,
      width: Math.max(0.5, each - (each > 3 ? 1 : 0)),
      y: y(to),
      height: Math.max(0, y(from) - y(to)),
      class: kind,
    });
  const rough = 56 / each;
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const every = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= rough) ?? 10 * unit;
  return [
    ...ticks(0, most, 4).flatMap((t) => [
      s('line', { x1: kLeft, x2: width - kRight, y1: y(t), y2: y(t), class: 'grid' }),
      s('text', { x: kLeft - 8, y: y(t) + 4, 'text-anchor': 'end' }, f.duration(t)),
    ]),
    ...bars.map((bar, i) =>
      s(
        'g',
        { 'data-step': bar.first },
        rect(i, 0, bar.ops, 'k1'),
        rect(i, bar.ops, bar.ops + bar.casts, 'k5'),
        rect(i, bar.ops + bar.casts, Math.max(bar.total, bar.ops + bar.casts), 'k7'),
        bar.total > most && s('text', { x: kLeft + i * each + each / 2, y: kTop + 2, 'text-anchor': 'middle' }, '▴'),
        bar.sampled && s('circle', { cx: kLeft + i * each + each / 2, cy: kTop + kPlot + 4, r: 2, class: 'k3' }),
        s('title', {}, barTitle(bar)),
      ),
    ),
    ...bars
      .filter((_, i) => i % every === 0)
      .map((bar, i) => s('text', { x: kLeft + i * every * each, y: kTop + kPlot + 20 }, f.integer(bar.first))),
    s('text', { x: kLeft - 8, y: kTop + kPlot + 20, 'text-anchor': 'end' }, 'step'),
  ];
}

export function stepsChart(steps: Step[], leftOut: number): Child {
  if (stepBars(steps, 1).length === 0) return null;
  const swatch = (kind: string, text: string) => h('span', {}, h('span', { class: `swatch ${kind}` }), text);
  return [
    responsive('Time of each training step', kHeight, (width) =>
      drawBars(stepBars(steps, width - kLeft - kRight), width),
    ).element,
    h(
      'div',
      { class: 'legend hint' },
      swatch('k1', 'ops'),
      swatch('k5', 'casts'),
      swatch('k7', 'neither'),
      swatch('k3', 'tensor statistics were gathered'),
      h('span', {}, '▴ cut off at the top'),
      leftOut > 0 && h('span', {}, `${f.integer(leftOut)} steps in between are not in the report`),
    ),
  ];
}
