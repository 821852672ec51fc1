// What the SVG charts share: a frame that is redrawn at the width it really has (so that text keeps its size), and
// ticks at round numbers.

import { flatName, h, on, s, type Child } from './dom.ts';

/**
 * A box whose drawing is made anew whenever its width changes. `readout` says in words what the chart shows at x (null
 * for nothing); it follows the pointer. Returns the redraw.
 */
export function responsive(
  label: string,
  height: number,
  draw: (width: number) => Child[],
  readout?: (x: number, width: number) => string | null,
): { element: HTMLElement; redraw(): void } {
  const element = h('div', { class: 'chart' });
  let width = 0;
  const redraw = (): void => {
    if (width < 40) return;
    const svg = s(
      'svg',
      { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
      ...draw(width),
    );
    element.replaceChildren(svg, words, line);
  };
  const words = h('div', { class: 'readout', hidden: true });
  const line = h('div', { class: 'readout-line', hidden: true });
  const show = (x: number | null): void => {
    const text = x === null ? null : (readout?.(x, width) ?? null);
    words.hidden = line.hidden = text === null;
    words.textContent = text === null ? '' : flatName(text);
    line.style.left = `${x ?? 0}px`;
  };
  if (readout) {
    on(element, {
      pointermove: (event) => show(event.clientX - element.getBoundingClientRect().left - 1),
      pointerleave: () => show(null),
    });
  }
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now === width) return;
    width = now;
    redraw();
  }).observe(element);
  element.style.minHeight = `${height}px`;
  return { element, redraw };
}

/** At most `most` round values in [low, high]. `base` 2 gives steps for bytes. */
export function ticks(low: number, high: number, most: number, base = 10): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, most);
  let unit = base ** Math.floor(Math.log(rough) / Math.log(base));
  const multiples = base === 10 ? [1, 2, 5, 10] : [1, 2];
  unit *= multiples.find((m) => m * unit >= rough) ?? multiples[multiples.length - 1];
  const out: number[] = [];
  for (let t = Math.ceil(low / unit) * unit; t <= high + unit * 1e-9; t += unit) out.push(t);
  return out;
}

export function polyline(points: [number, number][]): string {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}
