// Rows of the tensors view: each tensor on each sampled step, and for gradients one row that takes all of a step as
// one, because a loss scale is chosen for all of them together. Pure, tested without a page.

import { sorted, type SortKey } from '../lib/sort.ts';
import type { NarrowId } from './narrow_types.ts';
import type { Report, TensorStat } from './report.ts';
import { distributionOf, merge, type Distribution } from './what_if.ts';

export interface TensorRow {
  name: string;
  role: string;
  dtype: string; // "" if the members differ
  step: number | null;
  scale: number | null;
  members: number; // 1 for a tensor, more for a row that takes several as one
  count: number;
  nonFinite: number;
  underflow: Record<NarrowId, number | null>;
  overflow: Record<NarrowId, number | null>;
  minAbs: number | null;
  maxAbs: number | null;
  rounding: TensorStat['rounding'];
  distribution(): Distribution; // made when asked for: a report holds thousands of rows
}

function ofTensor(t: TensorStat): TensorRow {
  return {
    name: t.name,
    role: t.role,
    dtype: t.dtype,
    step: t.step,
    scale: t.scale,
    members: 1,
    count: t.count,
    nonFinite: t.nan + t.pos_inf + t.neg_inf,
    underflow: t.underflow,
    overflow: t.overflow,
    minAbs: t.min_abs_nonzero,
    maxAbs: t.max_abs,
    rounding: t.rounding,
    distribution: () => distributionOf(t),
  };
}

const kIds: NarrowId[] = ['float16', 'bfloat16', 'float8_e4m3fn', 'float8_e5m2'];

function pooled(
  members: TensorStat[],
  of: (t: TensorStat) => TensorStat['underflow'],
): Record<NarrowId, number | null> {
  const count = members.reduce((n, t) => n + t.count, 0);
  const share = (id: NarrowId): number | null => {
    if (count === 0 || members.some((t) => of(t)[id] === null)) return null;
    return members.reduce((n, t) => n + Math.round((of(t)[id] ?? 0) * t.count), 0) / count;
  };
  return Object.fromEntries(kIds.map((id) => [id, share(id)])) as Record<NarrowId, number | null>;
}

const kPoolNames: Record<string, string> = {
  gradient: 'all gradients',
  unscaled_gradient: 'all unscaled gradients',
  activation_gradient: 'all activation gradients',
};

function ofGroup(members: TensorStat[]): TensorRow {
  const [first] = members;
  const mins = members.flatMap((t) => (t.min_abs_nonzero === null ? [] : [t.min_abs_nonzero]));
  const maxs = members.flatMap((t) => (t.max_abs === null ? [] : [t.max_abs]));
  return {
    name: `${kPoolNames[first.role]}${members.every((t) => t.step === first.step) ? '' : ', all steps'} (${members.length})`,
    role: first.role,
    dtype: members.every((t) => t.dtype === first.dtype) ? first.dtype : '',
    step: members.every((t) => t.step === first.step) ? first.step : null,
    scale: first.scale,
    members: members.length,
    count: members.reduce((n, t) => n + t.count, 0),
    nonFinite: members.reduce((n, t) => n + t.nan + t.pos_inf + t.neg_inf, 0),
    underflow: pooled(members, (t) => t.underflow),
    overflow: pooled(members, (t) => t.overflow),
    minAbs: mins.length ? mins.reduce((a, b) => Math.min(a, b)) : null,
    maxAbs: maxs.length ? maxs.reduce((a, b) => Math.max(a, b)) : null,
    rounding: members.every((t) => t.rounding !== null)
      ? {
          to_zero: members.reduce((n, t) => n + (t.rounding?.to_zero ?? 0), 0),
          to_inf: members.reduce((n, t) => n + (t.rounding?.to_inf ?? 0), 0),
        }
      : null,
    distribution: () => merge(members.map(distributionOf)),
  };
}

/**
 * Pools first, then the tensors in the report's order. Unscaled gradients are also pooled over all steps: one loss
 * scale has to serve them all.
 */
export function tensorRows(report: Report): TensorRow[] {
  const groups = new Map<string, TensorStat[]>();
  for (const t of report.tensors) {
    if (!Object.prototype.hasOwnProperty.call(kPoolNames, t.role)) continue;
    // Values under different scales cannot be taken as one.
    const keys = [JSON.stringify([t.process, t.step, t.role, t.scale])];
    if (t.role === 'unscaled_gradient') keys.push(JSON.stringify([t.process, 'all', t.role, t.scale]));
    for (const key of keys) {
      const members = groups.get(key);
      if (members) members.push(t);
      else groups.set(key, [t]);
    }
  }
  const key = (members: TensorStat[]) => members.map((t) => t.step).join();
  const pools = [...groups.values()]
    .filter((members, i, all) => {
      // With one sampled step the pool of all steps is the pool of that step.
      const again = all
        .slice(0, i)
        .some((other) => other[0] === members[0] && other.length === members.length && key(other) === key(members));
      return members.length > 1 && !again;
    })
    .map(ofGroup);
  return [...pools, ...report.tensors.map(ofTensor)];
}

/** Share of all elements that became zero when the tensor was rounded to its dtype; null if that was not counted. */
export function roundedShare(row: TensorRow): number | null {
  return row.rounding === null || row.count === 0 ? null : row.rounding.to_zero / row.count;
}

export interface TensorFilter {
  text: string;
  role: string;
  dtype: string;
  step: string;
}

export const kNoTensorFilter: TensorFilter = { text: '', role: '', dtype: '', step: '' };

export function filterTensors(rows: TensorRow[], filter: TensorFilter): TensorRow[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (filter.role && row.role !== filter.role) return false;
    if (filter.dtype && row.dtype !== filter.dtype) return false;
    if (filter.step && String(row.step) !== filter.step) return false;
    const text = row.name.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function sortTensors(rows: TensorRow[], column: string, descending: boolean, type: NarrowId): TensorRow[] {
  const keys: Record<string, (row: TensorRow) => SortKey> = {
    name: (row) => row.name,
    role: (row) => row.role,
    dtype: (row) => row.dtype,
    step: (row) => row.step,
    count: (row) => row.count,
    underflow: (row) => row.underflow[type],
    overflow: (row) => row.overflow[type],
    rounded: roundedShare,
    nonfinite: (row) => row.nonFinite,
  };
  return sorted(rows, keys[column] ?? keys.underflow, descending);
}

/** True where a loss scale moves the values: gradients, before or after unscaling. */
export function movesWithLossScale(row: TensorRow): boolean {
  return Object.prototype.hasOwnProperty.call(kPoolNames, row.role);
}
