// Memory: allocated bytes over time against what a float32 run would have held, and both peaks by cause.

import * as f from '../lib/format.ts';
import { h, name, s, type Child } from '../lib/dom.ts';
import { polyline, responsive, ticks } from '../lib/chart.ts';
import { empty, figure, notMeasured, plainTable, section } from '../lib/parts.ts';
import { memoryScope } from '../model/memory_scope.ts';
import type { CauseBytes, Memory, MemoryPoint, Report } from '../model/report.ts';

const kLeft = 82;
const kRight = 16;
const kTop = 14;
const kPlot = 210;
const kHeight = kTop + kPlot + 30;

function steps(points: [number, number][]): [number, number][] {
  return points.flatMap((p, i): [number, number][] => (i === 0 ? [p] : [[p[0], points[i - 1][1]], p]));
}

function overTime(points: MemoryPoint[], memory: Memory): HTMLElement {
  const end = points[points.length - 1].time_ns;
  const start = points[0].time_ns;
  const readout = (x: number, width: number): string | null => {
    const ns = start + ((x - kLeft) / (width - kLeft - kRight)) * (end - start);
    const after = points.findIndex((p) => p.time_ns > ns);
    const point = points[after < 0 ? points.length - 1 : after - 1];
    if (!point || ns < start || ns > end) return null;
    const fp32 = point.bytes_if_fp32 === null ? '' : `, in float32 ${f.bytes(point.bytes_if_fp32)}`;
    return `${f.duration(ns - start)}: ${f.bytes(point.bytes)}${fp32}`;
  };
  const draw = (width: number): Child[] => {
    const most = points.reduce((n, p) => Math.max(n, p.bytes, p.bytes_if_fp32 ?? 0), 1);
    const x = (ns: number) => kLeft + ((ns - start) / Math.max(1, end - start)) * (width - kLeft - kRight);
    const y = (bytes: number) => kTop + (1 - bytes / most) * kPlot;
    const actual = steps(points.map((p): [number, number] => [x(p.time_ns), y(p.bytes)]));
    const fp32 = points
      .filter((p) => p.bytes_if_fp32 !== null)
      .map((p): [number, number] => [x(p.time_ns), y(p.bytes_if_fp32 ?? 0)]);
    const area = `${polyline(actual)}L${x(end).toFixed(1)} ${y(0)}L${kLeft} ${y(0)}z`;
    const mark = (ns: number | null, label: string, row: number): Child =>
      ns !== null &&
      ns >= start &&
      ns <= end && [
        s('line', { x1: x(ns), x2: x(ns), y1: kTop, y2: kTop + kPlot, class: 'marker' }),
        s(
          'text',
          {
            x: x(ns) + (x(ns) > width - 130 ? -4 : 4),
            y: kTop + kPlot - 8 - row * 14,
            'text-anchor': x(ns) > width - 130 ? 'end' : 'start',
          },
          label,
        ),
      ];
    return [
      ...ticks(0, most, 5, 2).flatMap((t) => [
        s('line', { x1: kLeft, x2: width - kRight, y1: y(t), y2: y(t), class: 'grid' }),
        s('text', { x: kLeft - 8, y: y(t) + 4, 'text-anchor': 'end' }, f.bytes(t)),
      ]),
      ...ticks(0, end - start, Math.max(3, width / 140)).map((t) =>
        s(
          'text',
          { x: x(t + start), y: kTop + kPlot + 18, 'text-anchor': x(t + start) > width - 40 ? 'end' : 'middle' },
          f.duration(t),
        ),
      ),
      s('path', { d: area, class: 'area' }),
      fp32.length > 0 && s('path', { d: polyline(steps(fp32)), class: 'line fp32', 'data-line': 'fp32' }),
      s('path', { d: polyline(actual), class: 'line', 'data-line': 'actual' }),
      mark(memory.peak_time_ns, 'peak', 0),
      mark(memory.peak_if_fp32_time_ns, 'peak in float32', 1),
    ].flat(2);
  };
  return responsive('Allocated bytes over time', kHeight, draw, readout).element;
}

const kBarHeight = 30;

type CauseRow = [string, CauseBytes];

function stackedBars(causes: CauseRow[]): HTMLElement {
  const rows: [string, (c: CauseBytes) => number][] = [
    ['as it ran', (c) => c.bytes ?? 0],
    ['in float32', (c) => c.bytes_if_fp32 ?? 0],
  ];
  return responsive('Peak memory by cause', rows.length * (kBarHeight + 10) + 14, (width) => {
    const most = Math.max(1, ...rows.map(([, of]) => causes.reduce((n, [, c]) => n + of(c), 0)));
    const scale = (bytes: number) => (bytes / most) * (width - kLeft - 96);
    return rows.flatMap(([label, of], i) => {
      const y = 10 + i * (kBarHeight + 10);
      let left = kLeft;
      const parts = causes.map(([cause, c], k) => {
        const w = scale(of(c));
        const rect = s(
          'rect',
          { x: left, y, width: Math.max(0, w - (w > 2 ? 1 : 0)), height: kBarHeight, class: `k${(k % 7) + 1}` },
          s('title', {}, `${cause}: ${f.bytes(of(c))}`),
        );
        left += w;
        return rect;
      });
      const total = causes.reduce((n, [, c]) => n + of(c), 0);
      return [
        s('text', { x: kLeft - 8, y: y + 19, 'text-anchor': 'end' }, label),
        ...parts,
        s('text', { x: left + 6, y: y + 19, class: 'strong' }, f.bytes(total)),
      ];
    });
  }).element;
}

function allocations(m: Memory): string {
  if (m.allocations === null || m.frees === null) return '';
  const end = m.end_bytes === null ? '' : `; ${f.bytes(m.end_bytes)} were still allocated at the end`;
  return ` ${f.plural(m.allocations, 'allocation')} and ${f.plural(m.frees, 'free')} were seen${end}.`;
}

function causeTable(report: Report, causes: CauseRow[]): HTMLElement {
  const print = (value: number | null, key: string) => figure(report, `memory.by_cause.${key}`, value, f.bytes);
  const rows = causes.map(([cause, c], i) => {
    const saved = c.bytes === null || c.bytes_if_fp32 === null ? null : c.bytes_if_fp32 - c.bytes;
    return [
      [h('span', { class: `swatch k${(i % 7) + 1}` }), name(cause.replace(/_/g, ' '))],
      print(c.bytes, cause),
      print(c.bytes_if_fp32, cause),
      saved !== null && saved < 0 ? h('span', { class: 'lost' }, f.bytes(saved)) : print(saved, cause),
      print(c.peak_bytes, cause),
    ] as Child[];
  });
  return plainTable(
    'Peak memory by cause',
    ['Cause', 'At the peak', 'At the peak in float32', 'Saved', 'Most it ever had'],
    rows,
    [1, 2, 3, 4],
  );
}

function verdict(report: Report): Child {
  const m = memoryScope(report.memory);
  if (m.saved_bytes === null) return h('p', {}, notMeasured(report, 'memory.saved_bytes', true));
  const size = (bytes: number | null) => (bytes === null ? 'an unknown size' : f.bytes(bytes));
  const when = m.peak_step === null ? '' : ` in step ${m.peak_step}`;
  const peaks =
    `The peak${m.inSteps ? ' of the training steps' : ''} was ${size(m.peak_bytes)}${when}; ` +
    `the same run in float32 would have peaked at ${size(m.peak_bytes_if_fp32)}.` +
    (m.peak_bytes !== report.memory.peak_bytes
      ? ` Outside the steps, as in evaluation, the run reached ${size(report.memory.peak_bytes)}.`
      : '');
  const share = m.peak_bytes_if_fp32 ? ` (${f.percent(Math.abs(m.saved_bytes) / m.peak_bytes_if_fp32)})` : '';
  if (m.saved_bytes < 0) {
    return h(
      'p',
      { id: 'memory-verdict' },
      h('b', { class: 'lost' }, `Mixed precision cost ${f.bytes(-m.saved_bytes)}${share}`),
      ` more than float32 would have needed: the saving is negative, ${f.bytes(m.saved_bytes)}. ${peaks} `,
      'Usual reasons: weights kept in float32 plus their low precision copies, with few activations to save on.',
    );
  }
  return h(
    'p',
    { id: 'memory-verdict' },
    h(
      'b',
      {},
      m.saved_bytes === 0 ? 'Mixed precision saved nothing' : `Mixed precision saved ${f.bytes(m.saved_bytes)}${share}`,
    ),
    `. ${peaks}`,
  );
}

export function buildMemory(report: Report, panel: HTMLElement): void {
  const m = report.memory;
  const causes = memoryScope(m)
    .causes.filter(([, c]) => (c.bytes ?? 0) > 0 || (c.bytes_if_fp32 ?? 0) > 0 || (c.peak_bytes ?? 0) > 0)
    .sort(
      (a, b) => Math.max(b[1].bytes ?? 0, b[1].bytes_if_fp32 ?? 0) - Math.max(a[1].bytes ?? 0, a[1].bytes_if_fp32 ?? 0),
    );
  panel.append(section('Memory', verdict(report)));
  panel.append(
    section(
      'By cause',
      ...(causes.length
        ? [
            stackedBars(causes),
            h('p', {}),
            causeTable(report, causes),
            h(
              'p',
              { class: 'hint' },
              'The two peaks need not be at the same moment, so rows of causes are compared peak with peak.',
            ),
          ]
        : [empty(notMeasured(report, 'memory.by_cause', true))]),
    ),
  );
  panel.append(
    section(
      'Over time',
      ...(m.timeline.length
        ? [
            overTime(m.timeline, m),
            h(
              'p',
              { class: 'hint' },
              'Filled: allocated bytes. Dashed: what a float32 run would have held, from replaying the same allocations.',
              allocations(m),
            ),
          ]
        : [empty(notMeasured(report, 'memory.timeline', true))]),
    ),
  );
}
