// The x axis of the loss-scale chart. A run of skipped steps is one named event that may span 91 of 100 000 steps; on a
// linear axis it would be one vertical line, which is what users misread as a jump. Here each run gets a minimal width
// and the rest of the axis shares what is left: still monotone, still piecewise linear, and the stretch is marked.

export interface StepAxis {
  x(step: number): number;
  stretched: { first: number; last: number }[]; // the runs that are wider than their share
}

interface Piece {
  from: number;
  to: number;
  width: number;
}

/** A run may take this much of the axis for each of its steps, so that they can be told apart, and at least the minimum. */
const kPixelsPerStep = 4;
const kMinRunWidth = 64;

/** Maps [first, last] onto [0, width]. `runs` hold first and last step, ascending and not overlapping. */
export function makeStepAxis(
  first: number,
  last: number,
  width: number,
  runs: { first: number; last: number }[],
): StepAxis {
  const total = Math.max(1, last - first);
  const perStep = width / total;
  const narrow = runs
    .map((run) => ({ first: Math.max(first, run.first), last: Math.min(last, run.last + 1) }))
    .filter((run) => run.last > run.first)
    .map((run) => ({ ...run, wanted: Math.max(kMinRunWidth, kPixelsPerStep * (run.last - run.first)) }))
    .filter((run) => (run.last - run.first) * perStep < run.wanted);
  // Never more than half of the axis for stretched runs, however many there are.
  const squeeze = Math.min(
    1,
    (width * 0.5) /
      Math.max(
        1,
        narrow.reduce((sum, run) => sum + run.wanted, 0),
      ),
  );
  const stretched = narrow.filter((run) => (run.last - run.first) * perStep < run.wanted * squeeze);
  const stretchedSteps = stretched.reduce((n, run) => n + run.last - run.first, 0);
  const stretchedWidth = stretched.reduce((sum, run) => sum + run.wanted * squeeze, 0);
  const rest = (width - stretchedWidth) / Math.max(1, total - stretchedSteps);
  const pieces: Piece[] = [];
  let at = first;
  for (const run of stretched) {
    if (run.first > at) pieces.push({ from: at, to: run.first, width: (run.first - at) * rest });
    pieces.push({ from: run.first, to: run.last, width: run.wanted * squeeze });
    at = run.last;
  }
  if (at < first + total) pieces.push({ from: at, to: first + total, width: (first + total - at) * rest });
  return {
    stretched,
    x(step: number): number {
      let left = 0;
      for (const piece of pieces) {
        if (step <= piece.to) return left + Math.max(0, (step - piece.from) / (piece.to - piece.from)) * piece.width;
        left += piece.width;
      }
      return left;
    },
  };
}
