// Draws a window of the timeline on a canvas: an axis, the tracks with their slices, the counters. Knows no events;
// views/timeline.ts moves the window and asks what lies under the pointer.

import * as f from '../lib/format.ts';
import { flatName } from '../lib/dom.ts';
import { dtypeFamily, kDtypeFamilies, readColors } from '../lib/dtype_color.ts';
import { ticks } from '../lib/chart.ts';
import { firstEndingAfter, sliceAt, type Lane, type Series, type TimelineIndex } from '../model/timeline_index.ts';
import type { Slice } from '../model/report.ts';

export interface Window {
  start: number;
  end: number;
}

export type Hit = { kind: 'slice'; slice: Slice } | { kind: 'counter'; series: Series; time_ns: number } | null;

const kLane = 19;
const kAxis = 26;
const kTrackHead = 20;
const kCounter = 58;
const kGap = 8;
export const kLeft = 8;
const kColors = [
  ...kDtypeFamilies,
  'bg',
  'panel',
  'raised',
  'line',
  'line-strong',
  'text',
  'quiet',
  'accent',
  'mem',
  'info-bg',
];

interface Box {
  top: number;
  lane: Lane | null;
  series: Series | null;
  head: string | null;
}

export class TimelineCanvas {
  readonly height: number;
  private readonly boxes_: Box[] = [];
  private colors_ = readColors(kColors);
  private width_ = 0;
  selected: Slice | null = null;

  constructor(
    private readonly canvas_: HTMLCanvasElement,
    private readonly index_: TimelineIndex,
  ) {
    let top = kAxis;
    for (const track of index_.tracks) {
      this.boxes_.push({ top, lane: null, series: null, head: track.title });
      top += kTrackHead;
      for (const lane of track.lanes) {
        this.boxes_.push({ top, lane, series: null, head: null });
        top += kLane;
      }
      top += kGap;
    }
    for (const series of index_.series) {
      this.boxes_.push({
        top,
        lane: null,
        series: null,
        head: series.second ? `${series.title} (dashed: ${series.second.title})` : series.title,
      });
      top += kTrackHead;
      this.boxes_.push({ top, lane: null, series, head: null });
      top += kCounter + kGap;
    }
    this.height = top + 4;
  }

  themeChanged(): void {
    this.colors_ = readColors(kColors);
  }

  resize(width: number): void {
    const density = window.devicePixelRatio || 1;
    this.width_ = width;
    this.canvas_.width = Math.round(width * density);
    this.canvas_.height = Math.round(this.height * density);
    this.canvas_.style.height = `${this.height}px`;
  }

  get plotWidth(): number {
    return Math.max(1, this.width_ - 2 * kLeft);
  }

  timeOf(x: number, view: Window): number {
    return view.start + ((x - kLeft) / this.plotWidth) * (view.end - view.start);
  }

  private xOf(ns: number, view: Window): number {
    return kLeft + ((ns - view.start) / (view.end - view.start)) * this.plotWidth;
  }

  hit(x: number, y: number, view: Window): Hit {
    const ns = this.timeOf(x, view);
    const slack = ((view.end - view.start) / this.plotWidth) * 3;
    for (const box of this.boxes_) {
      if (box.lane && y >= box.top && y < box.top + kLane) {
        const slice = sliceAt(box.lane, ns, slack);
        return slice && { kind: 'slice', slice };
      }
      if (box.series && y >= box.top && y < box.top + kCounter)
        return { kind: 'counter', series: box.series, time_ns: ns };
    }
    return null;
  }

  draw(view: Window): void {
    const context = this.canvas_.getContext('2d');
    if (!context || this.width_ === 0) return;
    const density = window.devicePixelRatio || 1;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, this.width_, this.height);
    context.font = '11.5px system-ui, "Liberation Sans", sans-serif';
    context.textBaseline = 'middle';
    this.drawAxis(context, view);
    for (const box of this.boxes_) {
      if (box.head !== null) {
        context.fillStyle = this.colors_.quiet;
        context.fillText(flatName(box.head), kLeft, box.top + kTrackHead / 2 + 1);
      }
      if (box.lane) this.drawLane(context, box.lane, box.top, view);
      if (box.series) this.drawSeries(context, box.series, box.top, view);
    }
  }

  private drawAxis(context: CanvasRenderingContext2D, view: Window): void {
    const c = this.colors_;
    for (const t of ticks(
      view.start - this.index_.start,
      view.end - this.index_.start,
      Math.max(2, this.width_ / 130),
    )) {
      const x = Math.round(this.xOf(t + this.index_.start, view)) + 0.5;
      context.strokeStyle = c.line;
      context.beginPath();
      context.moveTo(x, 18);
      context.lineTo(x, this.height);
      context.stroke();
      context.fillStyle = c.quiet;
      if (x < this.width_ - 56) context.fillText(f.duration(t), x + 3, 10);
    }
  }

  private drawLane(context: CanvasRenderingContext2D, lane: Lane, top: number, view: Window): void {
    let filledTo = -1; // pixels up to here hold a slice already: what is thinner than a pixel is drawn once
    for (let i = firstEndingAfter(lane, view.start); i < lane.slices.length; ++i) {
      const slice = lane.slices[i];
      if (slice.start_ns > view.end) break;
      const left = Math.max(0, this.xOf(slice.start_ns, view));
      const right = Math.min(this.width_, this.xOf(slice.start_ns + slice.dur_ns, view));
      if (right <= filledTo) continue;
      const width = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
      filledTo = left + width;
      this.drawSlice(context, slice, left, top, width);
    }
  }

  private drawSlice(context: CanvasRenderingContext2D, slice: Slice, left: number, top: number, width: number): void {
    const c = this.colors_;
    const height = kLane - 2;
    const color = c[dtypeFamily(slice.dtype)];
    if (slice.kind === 'step' || slice.kind === 'range') {
      context.fillStyle = slice.kind === 'step' ? c['info-bg'] : c.raised;
      context.fillRect(left, top, width, height);
      context.strokeStyle = c['line-strong'];
      context.strokeRect(left + 0.5, top + 0.5, Math.max(0, width - 1), height - 1);
    } else if (slice.kind === 'cast') {
      // A cast wears both types: where it came from above, where it went below.
      context.fillStyle = c[dtypeFamily(slice.from)];
      context.fillRect(left, top, width, height / 2);
      context.fillStyle = color;
      context.fillRect(left, top + height / 2, width, height / 2);
      if (width > 5) {
        context.fillStyle = c.panel;
        context.fillRect(left, top + height / 2 - 1, width, 2);
      }
    } else {
      context.fillStyle = color;
      context.fillRect(left, top, width, height);
    }
    if (slice === this.selected) {
      context.strokeStyle = c.text;
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(1, width - 2), height - 2);
      context.lineWidth = 1;
    }
    if (width > 26 && slice.kind !== 'cast') {
      context.fillStyle = slice.kind === 'op' ? '#10151a' : c.text;
      context.save();
      context.beginPath();
      context.rect(left, top, width - 3, height);
      context.clip();
      context.fillText(flatName(slice.name), left + 4, top + height / 2 + 1);
      context.restore();
    }
  }

  private drawSeries(context: CanvasRenderingContext2D, series: Series, top: number, view: Window): void {
    const c = this.colors_;
    const value = (v: number) => (series.log ? Math.log2(Math.max(v, 2 ** -149)) : v);
    const all = [...series.points, ...(series.second?.points ?? [])].map((p) => value(p.value));
    if (all.length === 0) return;
    const high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    const low = series.log ? all.reduce((a, b) => Math.min(a, b), Infinity) - 1 : 0;
    const y = (v: number) => top + kCounter - 4 - ((value(v) - low) / Math.max(1e-12, high - low)) * (kCounter - 10);
    const line = (points: Series['points'], dashed: boolean, color: string) => {
      context.strokeStyle = color;
      context.lineWidth = 1.5;
      context.setLineDash(dashed ? [5, 3] : []);
      context.beginPath();
      let last: number | null = null;
      for (const p of points) {
        const x = Math.min(this.width_ + 2, Math.max(-2, this.xOf(p.time_ns, view)));
        if (last === null) context.moveTo(x, y(p.value));
        else (context.lineTo(x, last), context.lineTo(x, y(p.value)));
        last = y(p.value);
      }
      if (last !== null) context.lineTo(Math.min(this.width_, this.xOf(this.index_.end, view)), last);
      context.stroke();
      context.setLineDash([]);
      context.lineWidth = 1;
    };
    context.strokeStyle = c.line;
    context.strokeRect(0.5, top + 0.5, this.width_ - 1, kCounter - 1);
    if (series.second) line(series.second.points, true, c.fp32);
    line(series.points, false, series.log ? c.fp16 : c.mem);
    context.fillStyle = c.quiet;
    const label = `top: ${printValue(series, series.log ? 2 ** high : high)}`;
    context.fillText(label, this.width_ - context.measureText(label).width - 6, top - kTrackHead / 2 + 1);
  }
}

export function printValue(series: Series, value: number): string {
  return series.unit === 'bytes'
    ? f.bytes(value)
    : series.log
      ? f.scale(value)
      : `${f.magnitude(value)} ${series.unit}`.trim();
}
