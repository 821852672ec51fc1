// The timeline: a canvas that is moved by pointer, wheel and keyboard, a tooltip, and the details of the chosen slice.

import * as f from '../lib/format.ts';
import { button, h, name, on, select, type Child } from '../lib/dom.ts';
import { onThemeChange } from '../lib/dtype_color.ts';
import { dtypeChip, empty, notMeasured, section } from '../lib/parts.ts';
import { indexTimeline, type Series, type TimelineIndex } from '../model/timeline_index.ts';
import { printValue, TimelineCanvas, type Hit, type Window } from './timeline_canvas.ts';
import { stepsChart } from './steps_chart.ts';
import type { Report, Slice } from '../model/report.ts';

function describe(slice: Slice): Child[] {
  const parts: Child[] = [h('b', {}, name(slice.name)), ` ${slice.kind}, ${f.duration(slice.dur_ns)}`];
  if (slice.kind === 'cast') parts.push(': ', dtypeChip(slice.from), '→ ', dtypeChip(slice.dtype));
  else if (slice.dtype) parts.push(' in ', dtypeChip(slice.dtype));
  if (slice.reason) parts.push(h('span', { class: 'quiet' }, ' because: '), name(slice.reason));
  if (slice.module) parts.push(h('span', { class: 'quiet' }, ' module '), name(slice.module));
  if (slice.phase) parts.push(h('span', { class: 'quiet' }, ` ${slice.phase}`));
  if (slice.step !== null) parts.push(h('span', { class: 'quiet' }, ` step ${slice.step}`));
  return parts;
}

function valueAt(series: Series, ns: number): string {
  const at = (points: Series['points']) => [...points].reverse().find((p) => p.time_ns <= ns) ?? points[0];
  const main = at(series.points);
  const second = series.second && at(series.second.points);
  return (
    (main ? printValue(series, main.value) : '–') +
    (second ? `, ${series.second?.title} ${printValue(series, second.value)}` : '')
  );
}

class TimelineView {
  readonly element: HTMLElement;
  private readonly canvas_ = h('canvas', {
    tabindex: 0,
    role: 'application',
    'aria-label': 'Timeline. Arrow keys move, plus and minus zoom, 0 shows all.',
  });
  private readonly tooltip_ = h('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  private readonly details_ = h(
    'div',
    { class: 'details', 'aria-live': 'polite' },
    h('span', { class: 'quiet' }, 'Click a slice for its details.'),
  );
  private readonly range_ = h('span', { class: 'hint', id: 'timeline-range' });
  private readonly painter_: TimelineCanvas;
  private view_: Window;
  private pending_ = false;
  private drag_: { x: number; view: Window; moved: boolean } | null = null;

  constructor(private readonly index_: TimelineIndex) {
    this.view_ = { start: index_.start, end: index_.end };
    this.painter_ = new TimelineCanvas(this.canvas_, index_);
    const frame = h('div', { class: 'timeline' }, this.canvas_, this.tooltip_);
    this.element = h('div', {}, this.controls(), frame, this.details_);
    this.listen();
    new ResizeObserver(() => {
      const width = Math.floor(frame.clientWidth);
      if (width > 0) this.painter_.resize(width);
      this.redraw();
    }).observe(frame);
    onThemeChange(() => {
      this.painter_.themeChanged();
      this.redraw();
    });
  }

  private controls(): HTMLElement {
    const steps = this.index_.steps;
    const choices: [string, string][] = [
      ['', 'all'],
      ...steps.slice(0, 500).map((s, i): [string, string] => [String(i), s.step === null ? s.name : `step ${s.step}`]),
    ];
    return h(
      'div',
      { class: 'controls' },
      steps.length > 0 && select('Show', 'timeline-step', choices, (value) => this.showStep(value)),
      button('−', { class: 'plain', 'aria-label': 'zoom out' }, () => this.zoom(1.6)),
      button('+', { class: 'plain', 'aria-label': 'zoom in' }, () => this.zoom(1 / 1.6)),
      button('all', { class: 'plain', 'aria-label': 'show all' }, () => this.show(this.index_.start, this.index_.end)),
      this.range_,
      h(
        'span',
        { class: 'hint' },
        'wheel zooms, drag moves; ',
        h('kbd', {}, '←'),
        ' ',
        h('kbd', {}, '→'),
        ' ',
        h('kbd', {}, '+'),
        ' ',
        h('kbd', {}, '−'),
        ' ',
        h('kbd', {}, '0'),
      ),
    );
  }

  private showStep(value: string): void {
    const step = this.index_.steps[Number(value)];
    if (value === '' || !step) this.show(this.index_.start, this.index_.end);
    else this.show(step.start_ns - step.dur_ns * 0.02, step.start_ns + step.dur_ns * 1.02);
  }

  private show(start: number, end: number): void {
    const whole = this.index_.end - this.index_.start;
    const length = Math.min(whole, Math.max(100, end - start));
    const from = Math.min(Math.max(start, this.index_.start), this.index_.end - length);
    this.view_ = { start: from, end: from + length };
    this.redraw();
  }

  private zoom(factor: number, around = (this.view_.start + this.view_.end) / 2): void {
    const { start, end } = this.view_;
    this.show(around - (around - start) * factor, around + (end - around) * factor);
  }

  private pan(share: number): void {
    const by = (this.view_.end - this.view_.start) * share;
    this.show(this.view_.start + by, this.view_.end + by);
  }

  private redraw(): void {
    const offset = this.view_.start - this.index_.start;
    this.range_.textContent = `${f.duration(this.view_.end - this.view_.start)} shown, from ${f.duration(offset)}`;
    if (this.pending_) return;
    this.pending_ = true;
    requestAnimationFrame(() => {
      this.pending_ = false;
      this.painter_.draw(this.view_);
    });
  }

  private listen(): void {
    const timeAt = (event: MouseEvent) => this.painter_.timeOf(event.offsetX, this.view_);
    this.canvas_.addEventListener(
      'wheel',
      (event) => {
        // Without a modifier the wheel zooms; sideways movement and shift pan, as trackpads do.
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
          this.pan((event.deltaX || event.deltaY) / 900);
        else this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeAt(event));
      },
      { passive: false },
    );
    on(this.canvas_, {
      pointerdown: (event) => {
        this.canvas_.setPointerCapture(event.pointerId);
        this.drag_ = { x: event.offsetX, view: this.view_, moved: false };
      },
      pointermove: (event) => this.move(event),
      pointerup: (event) => {
        if (this.drag_ && !this.drag_.moved) this.choose(this.painter_.hit(event.offsetX, event.offsetY, this.view_));
        this.drag_ = null;
      },
      pointerleave: () => (this.tooltip_.hidden = true),
      dblclick: (event) => this.zoom(0.4, timeAt(event)),
      keydown: (event) => this.key(event),
    });
  }

  private move(event: PointerEvent): void {
    if (this.drag_) {
      const by = event.offsetX - this.drag_.x;
      if (Math.abs(by) > 3) this.drag_.moved = true;
      const { start, end } = this.drag_.view;
      const ns = (by / this.painter_.plotWidth) * (end - start);
      if (this.drag_.moved) this.show(start - ns, end - ns);
      return;
    }
    this.tip(this.painter_.hit(event.offsetX, event.offsetY, this.view_), event.offsetX, event.offsetY);
  }

  private tip(hit: Hit, x: number, y: number): void {
    this.tooltip_.hidden = hit === null;
    if (!hit) return;
    if (hit.kind === 'slice') this.tooltip_.replaceChildren(h('div', {}, describe(hit.slice)));
    else
      this.tooltip_.replaceChildren(
        h('div', {}, name(hit.series.title), ' ', h('b', {}, valueAt(hit.series, hit.time_ns))),
      );
    const room = this.canvas_.clientWidth - this.tooltip_.offsetWidth - 8;
    this.tooltip_.style.left = `${Math.max(4, Math.min(x + 14, room))}px`;
    this.tooltip_.style.top = `${y + 18}px`;
  }

  private choose(hit: Hit): void {
    this.painter_.selected = hit && hit.kind === 'slice' ? hit.slice : null;
    const chosen = this.painter_.selected;
    this.details_.replaceChildren(
      ...(chosen
        ? [
            h(
              'div',
              {},
              describe(chosen),
              h('span', { class: 'quiet' }, ` at ${f.duration(chosen.start_ns - this.index_.start)} `),
              button('zoom to it', { class: 'link' }, () =>
                this.show(chosen.start_ns - chosen.dur_ns * 0.2, chosen.start_ns + chosen.dur_ns * 1.2),
              ),
            ),
          ]
        : [h('span', { class: 'quiet' }, 'Click a slice for its details.')]),
    );
    this.redraw();
  }

  private key(event: KeyboardEvent): void {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-0.2),
      ArrowRight: () => this.pan(0.2),
      a: () => this.pan(-0.2),
      d: () => this.pan(0.2),
      '+': () => this.zoom(1 / 1.5),
      '=': () => this.zoom(1 / 1.5),
      '-': () => this.zoom(1.5),
      w: () => this.zoom(1 / 1.5),
      s: () => this.zoom(1.5),
      '0': () => this.show(this.index_.start, this.index_.end),
      Home: () => this.show(this.index_.start, this.index_.start + this.view_.end - this.view_.start),
      End: () => this.show(this.index_.end - (this.view_.end - this.view_.start), this.index_.end),
      Escape: () => this.choose(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.prototype.hasOwnProperty.call(acts, event.key))
      return;
    event.preventDefault();
    acts[event.key]();
  }
}

export function buildTimeline(report: Report, panel: HTMLElement): void {
  buildSlices(report, panel);
  const steps = stepsChart(report.steps, report.steps_left_out);
  if (steps) panel.append(section('Time of each step', steps));
}

function buildSlices(report: Report, panel: HTMLElement): void {
  if (report.timeline.slices.length === 0) {
    panel.append(section('Timeline', empty(notMeasured(report, 'timeline', true))));
    return;
  }
  const index = indexTimeline(report);
  const view = new TimelineView(index);
  const left = report.timeline.slices_left_out;
  const dtypes = [
    ...new Set(
      report.timeline.slices.filter((slice) => slice.kind === 'op' && slice.dtype).map((slice) => slice.dtype),
    ),
  ];
  panel.append(
    section(
      'Timeline',
      h(
        'p',
        { class: 'hint' },
        `${f.plural(report.timeline.slices.length, 'slice')} shown` +
          (left > 0 ? `; ${f.integer(left)} more are in trace.json.gz. ` : '. '),
        'Colours: ',
        dtypes.map((dtype) => dtypeChip(dtype)),
        'casts wear both types, source above and target below.',
      ),
      view.element,
    ),
  );
}
