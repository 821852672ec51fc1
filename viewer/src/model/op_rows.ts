// Rows of the ops table: filters, sorting, and casts placed under the op that caused them. Pure, tested without a page.

import { sorted, type SortKey } from '../lib/sort.ts';
import type { Cast, Op } from './report.ts';

export interface OpFilter {
  text: string;
  dtype: string; // compute or input dtype; "" is all
  phase: string;
  reason: string;
}

export const kNoFilter: OpFilter = { text: '', dtype: '', phase: '', reason: '' };

export function filterOps(ops: Op[], filter: OpFilter): Op[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return ops.filter((op) => {
    if (filter.dtype && op.compute_dtype !== filter.dtype && !op.input_dtypes.includes(filter.dtype)) return false;
    if (filter.phase && op.phase !== filter.phase) return false;
    if (filter.reason && op.reason !== filter.reason) return false;
    if (words.length === 0) return true;
    const text = [
      op.name,
      op.rule,
      op.reason,
      op.phase,
      op.compute_dtype,
      ...op.input_dtypes,
      ...op.modules.map((m) => m.path),
    ]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const kOpKeys: Record<string, (op: Op) => SortKey> = {
  name: (op) => op.name,
  dtype: (op) => op.compute_dtype,
  rule: (op) => op.rule,
  reason: (op) => op.reason,
  phase: (op) => op.phase,
  inputs: (op) => op.input_dtypes.join(' '),
  calls: (op) => op.calls,
  cpu_ns: (op) => op.cpu_ns,
  gpu_ns: (op) => op.gpu_ns,
  cast_ns: (op) => op.cast_ns,
  flops: (op) => op.flops,
  bytes: (op) => op.bytes,
  rate: (op) => rate(op),
};

/** Floating point operations per second, on the GPU's clock where there is one. */
export function rate(op: Op): number | null {
  const ns = op.gpu_ns ?? op.cpu_ns;
  return op.flops === null || op.flops === 0 || ns === null || ns === 0 ? null : (op.flops / ns) * 1e9;
}

export function sortOps(ops: Op[], column: string, descending: boolean): Op[] {
  return sorted(ops, kOpKeys[column] ?? kOpKeys.cpu_ns, descending);
}

const castKey = (op: string, phase: string): string => JSON.stringify([op, phase]);

/** Casts by causing op and phase. Rows of one op in several dtypes share the casts: the report charges them by op. */
export function castsByCause(casts: Cast[]): Map<string, Cast[]> {
  const out = new Map<string, Cast[]>();
  for (const cast of casts) {
    const key = castKey(cast.cause_op, cast.phase);
    const list = out.get(key);
    if (list) list.push(cast);
    else out.set(key, [cast]);
  }
  return out;
}

export function castsOf(op: Op, byCause: Map<string, Cast[]>): Cast[] {
  return byCause.get(castKey(op.name, op.phase)) ?? [];
}

const kCastKeys: Record<string, (cast: Cast) => SortKey> = {
  cause: (cast) => cast.cause_op,
  phase: (cast) => cast.phase,
  from: (cast) => `${cast.from} ${cast.to}`,
  kind: (cast) => cast.kind,
  count: (cast) => cast.count,
  cached: (cast) => cast.cached_count,
  bytes: (cast) => cast.bytes,
  cpu_ns: (cast) => cast.cpu_ns,
  expansion: (cast) => cast.max_expansion,
};

export function sortCasts(casts: Cast[], column: string, descending: boolean): Cast[] {
  return sorted(casts, kCastKeys[column] ?? kCastKeys.cpu_ns, descending);
}
