// The loss scale: its history as steps on a log axis, skipped steps marked, each run of consecutive skips one named
// span that is wide enough to be read, and the growth tracker below.

import * as f from '../lib/format.ts';
import { flatName, h, name, s, type Child } from '../lib/dom.ts';
import { polyline, responsive, ticks } from '../lib/chart.ts';
import { empty, figure, notMeasured, plainTable, section } from '../lib/parts.ts';
import { makeStepAxis, type StepAxis } from '../model/step_axis.ts';
import type { LossScale, Report, ScaleEvent, SkipRun } from '../model/report.ts';

const kLeft = 62;
const kRight = 18;
const kScaleTop = 30;
const kScaleHeight = 220;
const kTrackerTop = kScaleTop + kScaleHeight + 44;
const kTrackerHeight = 54;
const kHeight = kTrackerTop + kTrackerHeight + 34;

/** "91 consecutive skipped steps from step 12, first non-finite parameter fc2.weight". */
export function runSentence(run: SkipRun): string {
  const what =
    run.skipped === 1
      ? `1 skipped step at step ${run.first_step}`
      : `${f.integer(run.skipped)} consecutive skipped steps from step ${run.first_step}`;
  return run.first_nonfinite === null ? what : `${what}, first non-finite parameter ${run.first_nonfinite}`;
}

interface Plot {
  axis: StepAxis;
  x(step: number): number;
  y(scale: number): number;
  events: ScaleEvent[];
  first: number;
  last: number;
  low: number;
  high: number;
}

const log = (scale: number): number => Math.log2(Math.max(scale, 2 ** -149));

function makePlot(loss: LossScale, events: ScaleEvent[], runs: SkipRun[], width: number): Plot {
  const first = events[0].step;
  const last = events[events.length - 1].step + 1;
  let low = Infinity;
  let high = -Infinity;
  for (const event of events) {
    for (const scale of [event.scale, event.scale_after]) {
      if (scale === null || !(scale > 0)) continue;
      low = Math.min(low, log(scale));
      high = Math.max(high, log(scale));
    }
  }
  if (low > high) low = high = 0;
  if (loss.min_scale !== null && loss.min_scale > 0) low = Math.min(low, log(loss.min_scale));
  low = Math.floor(low) - 1;
  high = Math.ceil(high) + 1;
  const spans = runs.filter((run) => run.skipped > 1).map((run) => ({ first: run.first_step, last: run.last_step }));
  const axis = makeStepAxis(first, last, width - kLeft - kRight, spans);
  return {
    axis,
    events,
    first,
    last,
    low,
    high,
    x: (step) => kLeft + axis.x(step),
    y: (scale) => kScaleTop + (1 - (log(scale) - low) / (high - low)) * kScaleHeight,
  };
}

function grid(p: Plot, width: number): Child[] {
  const out: Child[] = [];
  const every = [1, 2, 4, 8, 16, 32].find((n) => (p.high - p.low) / n <= 9) ?? 64;
  for (let e = Math.ceil(p.low / every) * every; e <= p.high; e += every) {
    const y = p.y(2 ** e);
    out.push(
      s('line', { x1: kLeft, x2: width - kRight, y1: y, y2: y, class: 'grid' }),
      s('text', { x: kLeft - 8, y: y + 4, 'text-anchor': 'end' }, f.pow2(e)),
    );
  }
  for (const t of ticks(p.first, p.last, Math.max(3, (width - kLeft) / 110)).filter(Number.isInteger)) {
    const inStretch = p.axis.stretched.some((run) => t > run.first && t < run.last);
    if (inStretch) continue;
    out.push(
      s('line', { x1: p.x(t), x2: p.x(t), y1: kScaleTop, y2: kTrackerTop + kTrackerHeight, class: 'grid' }),
      s('text', { x: p.x(t), y: kHeight - 14, 'text-anchor': p.x(t) > width - 34 ? 'end' : 'middle' }, f.integer(t)),
    );
  }
  out.push(s('text', { x: kLeft - 8, y: kHeight - 14, 'text-anchor': 'end' }, 'step'));
  return out;
}

function runBands(p: Plot, runs: SkipRun[], width: number): Child[] {
  let free = -Infinity; // labels do not overlap: one that finds no room is only in the list and in its tooltip
  return runs
    .filter((run) => run.skipped > 1)
    .map((run) => {
      const left = p.x(run.first_step);
      const right = p.x(run.last_step + 1);
      const stretched = p.axis.stretched.some((part) => part.first === Math.max(p.first, run.first_step));
      const text = `${f.integer(run.skipped)} skipped steps from ${run.first_step}${stretched ? ' (stretched)' : ''}`;
      const long = text.length * 6.2;
      const at = Math.min(left, width - kRight - long);
      const fits = at > free;
      if (fits) free = at + long + 8;
      return s(
        'g',
        { 'data-run': run.first_step },
        s('rect', {
          x: left,
          y: kScaleTop - 6,
          width: Math.max(2, right - left),
          height: kScaleHeight + 6,
          class: 'run',
        }),
        fits && s('text', { x: at, y: kScaleTop - 12, class: 'bad' }, flatName(text)),
        s('title', {}, runSentence(run)),
      );
    });
}

/** The scale as steps. Inside a run each halving keeps its own step, because the axis gave the run its width. */
function scalePath(p: Plot): string {
  const points: [number, number][] = [];
  for (const event of p.events) {
    if (event.scale === null || !(event.scale > 0)) continue;
    points.push([p.x(event.step), p.y(event.scale)], [p.x(event.step + 1), p.y(event.scale)]);
  }
  const after = p.events[p.events.length - 1].scale_after;
  if (after !== null && after > 0) points.push([p.x(p.last), p.y(after)]);
  return polyline(points);
}

function skipMarks(p: Plot): Child[] {
  const y = kScaleTop + kScaleHeight + 12;
  let last = -Infinity;
  return p.events
    .filter((event) => event.skipped)
    .map((event) => {
      const x = (p.x(event.step) + p.x(event.step + 1)) / 2;
      if (x - last < 1.5) return null; // the mark beside it covers the same pixels
      last = x;
      const why = event.first_nonfinite === null ? '' : `, first non-finite ${flatName(event.first_nonfinite)}`;
      return s(
        'path',
        { d: `M${(x - 3).toFixed(1)} ${y + 5}l3 -7l3 7z`, class: 'skip', 'data-skip': event.step },
        s(
          'title',
          {},
          `step ${event.step} skipped at scale ${event.scale === null ? '?' : f.scale(event.scale)}${why}`,
        ),
      );
    });
}

function tracker(p: Plot, loss: LossScale, width: number): Child[] {
  const known = p.events.filter((event) => event.growth_tracker !== null);
  if (known.length === 0) return [];
  const most = Math.max(
    1,
    loss.growth_interval ?? 0,
    known.reduce((n, event) => Math.max(n, event.growth_tracker ?? 0), 0),
  );
  const y = (n: number) => kTrackerTop + (1 - n / most) * kTrackerHeight;
  const points = known.map((event): [number, number] => [p.x(event.step + 1), y(event.growth_tracker ?? 0)]);
  const interval = loss.growth_interval;
  return [
    s('line', { x1: kLeft, x2: width - kRight, y1: y(0), y2: y(0), class: 'axis' }),
    interval !== null &&
      interval <= most &&
      s('line', { x1: kLeft, x2: width - kRight, y1: y(interval), y2: y(interval), class: 'marker' }),
    s('text', { x: kLeft - 8, y: y(most) + 4, 'text-anchor': 'end' }, f.integer(most)),
    s('text', { x: kLeft - 8, y: y(0) + 4, 'text-anchor': 'end' }, '0'),
    s(
      'text',
      { x: kLeft + 4, y: kTrackerTop - 4 },
      interval === null
        ? 'clean steps since the last change'
        : `clean steps since the last change; the scale grows at ${f.integer(interval)}`,
    ),
    s('path', { d: polyline(points), class: 'line tracker' }),
  ];
}

/** The event under x, in words. */
function eventAt(p: Plot, x: number): string | null {
  const event = p.events.find((e) => p.x(e.step) <= x && x < p.x(e.step + 1));
  if (!event) return null;
  const parts = [`step ${event.step}: scale ${event.scale === null ? 'unknown' : f.scale(event.scale)}`];
  if (event.skipped) parts.push('skipped');
  if (event.first_nonfinite !== null) parts.push(`first non-finite parameter ${event.first_nonfinite}`);
  if (event.growth_tracker !== null)
    parts.push(`${f.plural(event.growth_tracker, 'clean step')} since the last change`);
  if (event.action !== '' && event.action !== 'update') parts.push(event.action.replace(/_/g, ' '));
  return parts.join(', ');
}

function chart(loss: LossScale, events: ScaleEvent[], runs: SkipRun[]): HTMLElement {
  let plot: Plot | null = null;
  const draw = (width: number): Child[] => {
    const p = (plot = makePlot(loss, events, runs, width));
    const floor = loss.min_scale !== null && loss.min_scale > 0 ? p.y(loss.min_scale) : null;
    return [
      ...grid(p, width),
      ...runBands(p, runs, width),
      floor !== null && s('line', { x1: kLeft, x2: width - kRight, y1: floor, y2: floor, class: 'marker' }),
      floor !== null && s('text', { x: width - kRight, y: floor - 4, 'text-anchor': 'end' }, 'floor'),
      s('path', { d: scalePath(p), class: 'line scale', 'data-line': 'scale' }),
      ...skipMarks(p),
      ...tracker(p, loss, width),
    ];
  };
  return responsive('Loss scale over training steps', kHeight, draw, (x) => plot && eventAt(plot, x)).element;
}

function numbers(report: Report): HTMLElement {
  const l = report.loss_scale;
  const cell = (key: keyof LossScale, value: number | null, print: (n: number) => string) =>
    figure(report, `loss_scale.${key}`, value, print);
  return plainTable(
    'Loss scale in numbers',
    ['At first', 'At the end', 'Steps attempted', 'Applied', 'Skipped', 'Grown', 'Backed off'],
    [
      [
        cell('initial_scale', l.initial_scale, f.scale),
        cell('final_scale', l.final_scale, f.scale),
        cell('steps_attempted', l.steps_attempted, f.integer),
        cell('steps_applied', l.steps_applied, f.integer),
        cell('skipped_steps', l.skipped_steps, f.integer),
        cell('growths', l.growths, f.integer),
        cell('backoffs', l.backoffs, f.integer),
      ],
    ],
  );
}

function runList(runs: SkipRun[]): Child {
  if (runs.length === 0) return empty('No step was skipped.');
  const shown = runs.slice(0, 200);
  const rows = shown.map((run) => [
    name(runSentence(run)),
    run.scale_before === null ? '–' : f.scale(run.scale_before),
    run.scale_after === null ? '–' : f.scale(run.scale_after),
  ]);
  const rest = runs.length - shown.length;
  return [
    plainTable('Skipped steps', ['What', 'Scale before', 'Scale after'], rows),
    rest > 0 && h('p', { class: 'hint' }, `${f.integer(rest)} more runs are in report.json.`),
  ];
}

export function buildLossScale(report: Report, panel: HTMLElement): void {
  const loss = report.loss_scale;
  const verdict =
    loss.verdict === null
      ? notMeasured(report, 'loss_scale.verdict', true)
      : h(
          'p',
          {},
          h('b', {}, name(loss.verdict.replace(/_/g, ' '))),
          ': ',
          name(loss.verdict_text ?? '', { title: null }),
        );
  if (loss.events.length === 0) {
    panel.append(
      section(
        'Loss scale',
        verdict,
        empty(loss.verdict === null ? '' : 'No GradScaler was active, so there is no history to draw.'),
      ),
    );
    return;
  }
  const processes = [...new Set(loss.events.map((event) => event.process))];
  panel.append(section('Loss scale', verdict, numbers(report)));
  for (const process of processes) {
    const events = loss.events.filter((event) => event.process === process).sort((a, b) => a.step - b.step);
    const runs = loss.runs
      .filter((run) => run.process === process || processes.length === 1)
      .sort((a, b) => a.first_step - b.first_step);
    panel.append(
      section(
        processes.length > 1 ? `History of process ${process ?? '?'}` : 'History',
        chart(loss, events, runs),
        h(
          'p',
          { class: 'hint' },
          'Red marks are skipped steps, red bands runs of consecutive skips; a band marked as stretched is drawn wider ' +
            'than its share, so that its steps stay apart.',
        ),
      ),
    );
  }
  panel.append(section('Skipped steps', runList(loss.runs)));
}
