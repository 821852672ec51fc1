// Small pieces that several views show: a dtype chip, "not measured", a figure that may be missing, an empty state.

import type { Report } from '../model/report.ts';
import { whyNotMeasured } from '../model/load.ts';
import { h, name, type Child } from './dom.ts';
import { dtypeFamily } from './dtype_color.ts';

export function dtypeChip(dtype: string | null): HTMLElement {
  if (dtype === null || dtype === '') return h('span', { class: 'quiet' }, 'none');
  return h('span', { class: `chip d-${dtypeFamily(dtype)}` }, name(dtype));
}

export function dtypeList(dtypes: string[]): Child[] {
  // Runs of the same type are counted: a concatenation may have a hundred inputs.
  const out: Child[] = [];
  for (let i = 0; i < dtypes.length;) {
    let n = 1;
    while (i + n < dtypes.length && dtypes[i + n] === dtypes[i]) n += 1;
    out.push(dtypeChip(dtypes[i]), n > 1 && h('span', { class: 'quiet' }, ` ×${n} `));
    i += n;
  }
  return out;
}

/** "not measured", with the reason on hover; `full` writes the reason out. */
export function notMeasured(report: Report, path: string, full = false): HTMLElement {
  const reason = whyNotMeasured(report, path);
  return h(
    'span',
    { class: 'unmeasured', title: reason, 'data-unmeasured': path },
    full ? ['not measured: ', name(reason)] : 'not measured',
  );
}

/** A figure, or "not measured" with its reason. */
export function figure(report: Report, path: string, value: number | null, print: (n: number) => string): Child {
  return value === null ? notMeasured(report, path) : print(value);
}

export function section(title: string, ...children: Child[]): HTMLElement {
  return h('section', {}, h('h2', {}, title), ...children);
}

export function empty(...children: Child[]): HTMLElement {
  return h('p', { class: 'empty' }, ...children);
}

/** A plain table for a few rows; long ones use VirtualTable. `numeric` are the right-aligned columns. */
export function plainTable(label: string, heads: string[], rows: Child[][], numeric: number[] = []): HTMLElement {
  const align = (i: number) => (numeric.includes(i) ? 'number' : '');
  return h(
    'div',
    { class: 'table-frame' },
    h(
      'table',
      { class: 'plain', 'aria-label': label },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((head, i) => h('th', { scope: 'col', class: align(i) }, head)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            {},
            row.map((cell, i) => h('td', { class: align(i) }, cell)),
          ),
        ),
      ),
    ),
  );
}
