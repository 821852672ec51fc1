// Slices in an order that can be searched: per track and depth, ascending by start, so that drawing a window of
// 20 000 slices touches only those in it, and a pointer finds its slice by bisection.

import type { Report, Slice } from './report.ts';

export interface Lane {
  slices: Slice[]; // ascending start_ns, not overlapping
}

export interface TrackLanes {
  id: number;
  title: string;
  lanes: Lane[]; // by depth
}

export interface Series {
  title: string;
  unit: string;
  log: boolean;
  points: { time_ns: number; value: number }[];
  second: { title: string; points: { time_ns: number; value: number }[] } | null;
}

export interface TimelineIndex {
  start: number;
  end: number;
  steps: Slice[];
  tracks: TrackLanes[];
  series: Series[];
}

/** The first slice of the lane that ends after `ns`. */
export function firstEndingAfter(lane: Lane, ns: number): number {
  let low = 0;
  let high = lane.slices.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    const slice = lane.slices[mid];
    if (slice.start_ns + slice.dur_ns > ns) high = mid;
    else low = mid + 1;
  }
  return low;
}

/** The slice at `ns`, allowing `slack` on both sides for slices too short to hit. */
export function sliceAt(lane: Lane, ns: number, slack: number): Slice | null {
  const at = firstEndingAfter(lane, ns - slack);
  let best: Slice | null = null;
  for (let i = at; i < lane.slices.length && lane.slices[i].start_ns <= ns + slack; ++i) {
    const slice = lane.slices[i];
    if (slice.start_ns <= ns && ns < slice.start_ns + slice.dur_ns) return slice;
    best = best ?? slice;
  }
  return best;
}

const kMostLanes = 64;

/**
 * Steps have the first lane for themselves, the rest goes by depth. A slice that would overlap its neighbour (marks of
 * different kinds do not nest by rule) moves to the next lane, so that bisection within a lane stays right.
 */
function place(track: TrackLanes, slice: Slice): void {
  let at = slice.kind === 'step' ? 0 : Math.min(slice.depth, kMostLanes) + 1;
  for (; ; ++at) {
    while (track.lanes.length <= at) track.lanes.push({ slices: [] });
    const last = track.lanes[at].slices[track.lanes[at].slices.length - 1];
    if (!last || last.start_ns + last.dur_ns <= slice.start_ns || at >= 2 * kMostLanes) break;
  }
  track.lanes[at].slices.push(slice);
}

const title = (name: string, pid: number | null, tid: number | null, manyProcesses: boolean): string => {
  const base = name || (tid === null ? 'track' : `thread ${tid}`);
  return manyProcesses && pid !== null ? `${base} (process ${pid})` : base;
};

function series(report: Report, start: number, end: number): Series[] {
  const inside = (points: { time_ns: number; value: number }[]) => {
    // One point before the window stays: a step function needs the value it enters with.
    const first = points.findIndex((p) => p.time_ns >= start);
    if (first < 0) return points.slice(-1);
    return points.slice(Math.max(0, first - 1)).filter((p) => p.time_ns <= end);
  };
  const out: Series[] = report.timeline.counters
    .filter((counter) => counter.points.length > 0)
    .map((counter) => ({
      title: counter.name,
      unit: counter.unit,
      log: counter.name === 'loss scale',
      points: inside(counter.points),
      second: null,
    }));
  const memory = report.memory.timeline;
  const already = out.some((s) => /memory|alloc/i.test(s.title));
  if (memory.length > 0 && !already) {
    const fp32 = memory
      .filter((p) => p.bytes_if_fp32 !== null)
      .map((p) => ({ time_ns: p.time_ns, value: p.bytes_if_fp32 ?? 0 }));
    out.push({
      title: 'allocated',
      unit: 'bytes',
      log: false,
      points: inside(memory.map((p) => ({ time_ns: p.time_ns, value: p.bytes }))),
      second: fp32.length ? { title: 'in float32', points: inside(fp32) } : null,
    });
  }
  return out;
}

export function indexTimeline(report: Report): TimelineIndex {
  const { slices } = report.timeline;
  const ends = slices.map((slice) => slice.start_ns + slice.dur_ns);
  const lowest = slices.reduce((min, slice) => Math.min(min, slice.start_ns), Infinity);
  const highest = ends.reduce((max, ns) => Math.max(max, ns), -Infinity);
  const start = slices.length ? Math.min(lowest, report.timeline.start_ns || lowest) : 0;
  const end = slices.length ? Math.max(highest, start + 1) : 1;
  const processes = new Set(report.timeline.tracks.map((track) => track.pid));
  const tracks = new Map<number, TrackLanes>();
  for (const track of report.timeline.tracks) {
    tracks.set(track.id, {
      id: track.id,
      title: title(track.name, track.pid, track.tid, processes.size > 1),
      lanes: [],
    });
  }
  const steps: Slice[] = [];
  for (const slice of [...slices].sort((a, b) => a.start_ns - b.start_ns || b.dur_ns - a.dur_ns)) {
    if (slice.kind === 'step') steps.push(slice);
    let track = tracks.get(slice.track);
    if (!track) tracks.set(slice.track, (track = { id: slice.track, title: `track ${slice.track}`, lanes: [] }));
    place(track, slice);
  }
  return {
    start,
    end,
    steps,
    tracks: [...tracks.values()]
      .map((t) => ({ ...t, lanes: t.lanes.filter((lane) => lane.slices.length) }))
      .filter((t) => t.lanes.length > 0),
    series: series(report, start, end),
  };
}
