// The ops table: what ran in which dtype and why, with filters; the casts of an op open under its row, and all casts
// follow in a table of their own.

import * as f from '../lib/format.ts';
import { button, h, name, on, select, type Child } from '../lib/dom.ts';
import { dtypeFamily } from '../lib/dtype_color.ts';
import { distinct } from '../lib/sort.ts';
import { dtypeChip, dtypeList, empty, figure, notMeasured, section } from '../lib/parts.ts';
import { VirtualTable, type Column, type SortOrder } from '../lib/virtual_table.ts';
import {
  castsByCause,
  castsOf,
  filterOps,
  kNoFilter,
  rate,
  sortCasts,
  sortOps,
  type OpFilter,
} from '../model/op_rows.ts';
import type { Cast, Kernel, Op, Report } from '../model/report.ts';

type Module = Op['modules'][number];
// An op, or under it one of its casts or one of the modules that called it.
type Row = { op: Op; cast?: Cast; module?: Module };

class OpsTable {
  readonly table: VirtualTable<Row>;
  readonly summary = h('span', { class: 'hint', 'aria-live': 'polite' });
  private filter_: OpFilter = { ...kNoFilter };
  private order_: SortOrder = { column: 'cpu_ns', descending: true };
  private readonly open_ = new Set<Op>();
  private readonly casts_: Map<string, Cast[]>;
  private longest_ = 1; // nanoseconds: the full length of the bars

  constructor(private readonly report_: Report) {
    this.casts_ = castsByCause(report_.casts);
    for (const op of report_.ops) this.longest_ = Math.max(this.longest_, op.cpu_ns ?? 0);
    this.table = new VirtualTable<Row>({
      label: 'Ops',
      columns: this.columns(),
      sort: this.order_,
      onSort: (order) => {
        this.order_ = order;
        this.refresh();
      },
      rowClass: (row) => (row.cast || row.module ? 'child' : ''),
    });
    this.refresh();
  }

  set(change: Partial<OpFilter>): void {
    this.filter_ = { ...this.filter_, ...change };
    this.refresh();
  }

  private refresh(keepPlace = false): void {
    const ops = sortOps(filterOps(this.report_.ops, this.filter_), this.order_.column, this.order_.descending);
    const rows: Row[] = [];
    for (const op of ops) {
      rows.push({ op });
      if (!this.open_.has(op)) continue;
      for (const cast of castsOf(op, this.casts_)) rows.push({ op, cast });
      for (const module of op.modules) rows.push({ op, module });
    }
    this.table.setRows(rows, keepPlace);
    const ns = ops.reduce((sum, op) => sum + (op.cpu_ns ?? 0), 0);
    const known = ops.some((op) => op.cpu_ns !== null);
    this.summary.textContent =
      `${f.integer(ops.length)} of ${f.plural(this.report_.ops.length, 'row')}` +
      (known ? `, ${f.duration(ns)} of self time` : '');
  }

  private expander(op: Op): Child {
    const casts = castsOf(op, this.casts_);
    if (casts.length + op.modules.length === 0) return h('span', { class: 'expander-space' });
    const open = this.open_.has(op);
    const label = `casts and modules of ${op.name}`;
    const title = `${f.plural(casts.length, 'row')} of casts, ${f.plural(op.modules.length + op.modules_left_out, 'module')}`;
    return button(open ? '▾' : '▸', { class: 'expander', 'aria-expanded': open, 'aria-label': label, title }, () => {
      if (open) this.open_.delete(op);
      else this.open_.add(op);
      this.refresh(true);
    });
  }

  private timeCell(ns: number | null, dtype: string): Child {
    if (ns === null) return notMeasured(this.report_, 'ops[].cpu_ns');
    const bar = h('span', { class: 'bar' });
    bar.style.color = `var(--${dtypeFamily(dtype)})`;
    bar.style.width = `${(ns / this.longest_) * 44}px`;
    return [bar, ' ', f.duration(ns)];
  }

  private columns(): Column<Row>[] {
    const r = this.report_;
    const nothing = () => null;
    const of =
      (
        opCell: (op: Op) => Child,
        castCell: (cast: Cast) => Child = nothing,
        moduleCell: (module: Module) => Child = nothing,
      ) =>
      (row: Row): Child =>
        row.cast ? castCell(row.cast) : row.module ? moduleCell(row.module) : opCell(row.op);
    const under = (...what: Child[]): Child => [h('span', { class: 'expander-space' }), '↳ ', ...what];
    const onGpu = r.ops.some((op) => op.gpu_ns !== null);
    const columns: Column<Row>[] = [
      {
        id: 'name',
        title: 'Op',
        width: null,
        cell: of(
          (op) => [
            this.expander(op),
            name(op.name),
            op.composite && h('span', { class: 'quiet', title: 'runs other ops inside' }, ' (composite)'),
          ],
          (cast) => under('cast, ', name(cast.kind)),
          (module) => under('in ', module.path ? name(module.path) : 'no module'),
        ),
      },
      {
        id: 'dtype',
        title: 'Ran in',
        width: 106,
        help: 'the dtype the body computed in',
        cell: of(
          (op) => dtypeChip(op.compute_dtype),
          (cast) => dtypeChip(cast.to),
        ),
      },
      {
        id: 'reason',
        title: 'Why',
        width: 184,
        help: 'why it ran in this dtype',
        cell: of(
          (op) => name(op.reason, { title: `${op.reason}; rules of policy ${op.policy}` }),
          (cast) => `${f.plural(cast.cached_count, 'more')} from the cache`,
        ),
      },
      { id: 'rule', title: 'Cast rule', width: 112, cell: of((op) => h('span', { class: 'mono' }, name(op.rule))) },
      { id: 'phase', title: 'Phase', width: 80, cell: of((op) => name(op.phase)) },
      {
        id: 'inputs',
        title: 'Inputs',
        width: 164,
        help: 'input dtypes as the caller passed them, before casts',
        cell: of(
          (op) => dtypeList(op.input_dtypes),
          (cast) => dtypeChip(cast.from),
        ),
      },
      {
        id: 'calls',
        title: 'Calls',
        width: 68,
        number: true,
        cell: of(
          (op) => f.integer(op.calls),
          (cast) => f.integer(cast.count),
          (module) => f.integer(module.calls),
        ),
      },
      {
        id: 'cpu_ns',
        title: onGpu ? 'CPU self' : 'Self time',
        width: 116,
        number: true,
        help: 'without nested ops and without casts',
        cell: of(
          (op) => this.timeCell(op.cpu_ns, op.compute_dtype),
          (cast) => this.timeCell(cast.cpu_ns, cast.to),
          (module) => this.timeCell(module.cpu_ns, ''),
        ),
      },
      {
        id: 'cast_ns',
        title: 'Casts',
        width: 76,
        number: true,
        help: 'time of the casts it caused',
        cell: of((op) => figure(r, 'ops[].cast_ns', op.cast_ns, (n) => (n === 0 ? '0' : f.duration(n)))),
      },
      {
        id: 'flops',
        title: 'Flops',
        width: 96,
        number: true,
        help: 'by the formula of the op',
        cell: of((op) => figure(r, 'ops[].flops', op.flops, f.flops)),
      },
      {
        id: 'bytes',
        title: 'Bytes',
        width: 80,
        number: true,
        help: 'read plus written, by the formula of the op',
        cell: of(
          (op) => figure(r, 'ops[].bytes', op.bytes, f.bytes),
          (cast) => figure(r, 'casts[].bytes', cast.bytes, f.bytes),
        ),
      },
      {
        id: 'rate',
        title: 'Rate',
        width: 108,
        number: true,
        help: 'flops per second of self time',
        cell: of((op) => {
          const x = rate(op);
          return x === null ? h('span', { class: 'quiet' }, '–') : `${f.flops(x)}/s`;
        }),
      },
    ];
    if (onGpu) {
      columns.splice(8, 0, {
        id: 'gpu_ns',
        title: 'GPU',
        width: 90,
        number: true,
        cell: of((op) => figure(r, 'ops[].gpu_ns', op.gpu_ns, f.duration)),
      });
      columns.push({ id: 'core', title: 'Tensor Core', width: 96, sortable: false, cell: of((op) => coreCell(r, op)) });
    }
    return columns;
  }
}

function coreCell(report: Report, op: Op): Child {
  const core = op.tensor_core;
  if (core.used === null) return notMeasured(report, 'ops[].tensor_core');
  const words = core.used ? 'yes' : core.eligible ? 'no, could' : 'no';
  return h('span', { title: [core.known_by, core.note].filter(Boolean).join('; ') }, words);
}

function castTable(report: Report): Child {
  if (report.casts.length === 0) return empty('No cast was recorded.');
  const columns: Column<Cast>[] = [
    {
      id: 'cause',
      title: 'Caused by',
      width: null,
      cell: (c) => (c.cause_op ? name(c.cause_op) : h('span', { class: 'quiet' }, 'explicit call')),
    },
    { id: 'phase', title: 'Phase', width: 90, cell: (c) => name(c.phase) },
    { id: 'from', title: 'From → to', width: 250, cell: (c) => [dtypeChip(c.from), '→ ', dtypeChip(c.to)] },
    { id: 'kind', title: 'Asked for by', width: 150, cell: (c) => name(c.kind) },
    { id: 'count', title: 'Casts', width: 90, number: true, cell: (c) => f.integer(c.count) },
    {
      id: 'cached',
      title: 'From cache',
      width: 108,
      number: true,
      help: 'casts that the cache saved',
      cell: (c) => f.integer(c.cached_count),
    },
    {
      id: 'bytes',
      title: 'Bytes',
      width: 96,
      number: true,
      cell: (c) => figure(report, 'casts[].bytes', c.bytes, f.bytes),
    },
    {
      id: 'cpu_ns',
      title: 'Time',
      width: 96,
      number: true,
      cell: (c) => figure(report, 'casts[].cpu_ns', c.cpu_ns, f.duration),
    },
    {
      id: 'expansion',
      title: 'Expanded',
      width: 104,
      number: true,
      help: 'elements written per distinct element of the source',
      cell: (c) =>
        figure(report, 'casts[].max_expansion', c.max_expansion, (n) => (n > 1 ? `${f.magnitude(n)}×` : '1×')),
    },
  ];
  const table: VirtualTable<Cast> = new VirtualTable({
    label: 'Casts',
    columns,
    sort: { column: 'cpu_ns', descending: true },
    onSort: (order) => table.setRows(sortCasts(report.casts, order.column, order.descending)),
  });
  table.setRows(sortCasts(report.casts, 'cpu_ns', true));
  return table.element;
}

function kernelTable(report: Report): Child {
  if (report.kernels.length === 0) return empty(notMeasured(report, 'kernels', true));
  const columns: Column<Kernel>[] = [
    {
      id: 'name',
      title: 'Kernel',
      width: null,
      sortable: false,
      cell: (k) => h('span', { class: 'mono' }, name(k.name)),
    },
    { id: 'op', title: 'Op', width: 140, sortable: false, cell: (k) => (k.op ? name(k.op) : '–') },
    { id: 'count', title: 'Launches', width: 90, number: true, sortable: false, cell: (k) => f.integer(k.count) },
    {
      id: 'gpu_ns',
      title: 'GPU time',
      width: 100,
      number: true,
      sortable: false,
      cell: (k) => figure(report, 'kernels[].gpu_ns', k.gpu_ns, f.duration),
    },
    {
      id: 'core',
      title: 'Tensor Core',
      width: 110,
      sortable: false,
      cell: (k) =>
        k.tensor_core === null ? notMeasured(report, 'kernels[].tensor_core') : k.tensor_core ? 'yes' : 'no',
    },
    { id: 'math', title: 'Math', width: 130, sortable: false, cell: (k) => dtypeChip(k.math_dtype) },
  ];
  const table = new VirtualTable<Kernel>({
    label: 'Kernels',
    columns,
    sort: { column: '', descending: true },
    onSort: () => undefined,
  });
  table.setRows(report.kernels);
  return table.element;
}

function filters(report: Report, ops: OpsTable): HTMLElement {
  const search = on(h('input', { type: 'search', id: 'op-text', size: 22, placeholder: 'name, module, reason …' }), {
    input: () => ops.set({ text: search.value }),
  });
  const choices = (values: string[]): [string, string][] => [
    ['', 'all'],
    ...values.map((v): [string, string] => [v, v]),
  ];
  const dtypes = distinct(report.ops.flatMap((op) => [op.compute_dtype, ...op.input_dtypes]));
  return h(
    'div',
    { class: 'controls' },
    h('label', { class: 'control' }, h('span', {}, 'Search'), search),
    select('Dtype', 'op-dtype', choices(dtypes), (dtype) => ops.set({ dtype })),
    select('Phase', 'op-phase', choices(distinct(report.ops.map((op) => op.phase))), (phase) => ops.set({ phase })),
    select('Why', 'op-reason', choices(distinct(report.ops.map((op) => op.reason))), (reason) => ops.set({ reason })),
    ops.summary,
  );
}

export function buildOps(report: Report, panel: HTMLElement): void {
  if (report.ops.length === 0) {
    panel.append(section('Ops', empty(notMeasured(report, 'ops', true))));
  } else {
    const ops = new OpsTable(report);
    panel.append(section('Ops', filters(report, ops), ops.table.element));
  }
  panel.append(section('Casts, charged to the op that caused them', castTable(report)));
  panel.append(section('GPU kernels', kernelTable(report)));
}
