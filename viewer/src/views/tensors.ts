// The tensors view: the list with its filters on the left, the chosen tensor on the right.

import * as f from '../lib/format.ts';
import { h, name, on, select, type Child } from '../lib/dom.ts';
import { distinct } from '../lib/sort.ts';
import { dtypeChip, empty, notMeasured, section } from '../lib/parts.ts';
import { VirtualTable, type Column, type SortOrder } from '../lib/virtual_table.ts';
import { kNarrowTypes, type NarrowType } from '../model/narrow_types.ts';
import {
  filterTensors,
  kNoTensorFilter,
  roundedShare,
  sortTensors,
  tensorRows,
  type TensorFilter,
  type TensorRow,
} from '../model/tensor_rows.ts';
import { TensorDetail } from './tensor_detail.ts';
import type { Report } from '../model/report.ts';

class TensorsView {
  readonly list: HTMLElement;
  readonly detail = h('div', { id: 'tensor-detail' });
  private readonly rows_: TensorRow[];
  private filter_: TensorFilter = { ...kNoTensorFilter };
  private order_: SortOrder = { column: 'underflow', descending: true };
  private type_: NarrowType = kNarrowTypes[0];
  private selected_: TensorRow | null = null;
  private readonly table_: VirtualTable<TensorRow>;
  private readonly summary_ = h('span', { class: 'hint', 'aria-live': 'polite' });

  constructor(private readonly report_: Report) {
    this.rows_ = tensorRows(report_);
    if (this.rows_.some((row) => row.role === 'gradient' && (roundedShare(row) ?? 0) > 0))
      this.order_.column = 'rounded';
    this.table_ = new VirtualTable<TensorRow>({
      label: 'Tensors',
      columns: this.columns(),
      sort: this.order_,
      onSort: (order) => {
        this.order_ = order;
        this.refresh();
      },
      rowClass: (row) => (row === this.selected_ ? 'selected' : ''),
      onSelect: (row) => this.choose(row, true),
    });
    this.list = h('div', {}, this.controls(), this.table_.element);
    // Open with what matters most: gradients as they were stored, all of the worst step as one.
    const hasGradients = this.rows_.some((row) => row.role === 'gradient');
    const picker = this.list.querySelector<HTMLSelectElement>('#tensor-role');
    if (hasGradients && picker) {
      picker.value = 'gradient';
      this.filter_.role = 'gradient';
    }
    const sorted = sortTensors(filterTensors(this.rows_, this.filter_), this.order_.column, true, this.type_.id);
    const first = sorted.find((row) => row.members > 1) ?? sorted[0];
    if (first) this.choose(first, false);
  }

  private share(value: number | null, path: string): Child {
    if (value === null) return notMeasured(this.report_, path);
    return value === 0 ? h('span', { class: 'quiet' }, '0 %') : f.percent(value);
  }

  private columns(): Column<TensorRow>[] {
    return [
      {
        id: 'name',
        title: 'Tensor',
        width: null,
        cell: (row) => [
          row.members > 1 ? h('b', {}, name(row.name)) : name(row.name),
          this.filter_.role === '' &&
            row.members === 1 &&
            h('span', { class: 'quiet' }, ' ', name(row.role.replace(/_/g, ' '))),
        ],
      },
      { id: 'dtype', title: 'Dtype', width: 88, cell: (row) => dtypeChip(row.dtype || 'mixed') },
      {
        id: 'step',
        title: 'Step',
        width: 56,
        number: true,
        cell: (row) => row.step ?? (row.members > 1 ? 'all' : '–'),
      },
      {
        id: 'rounded',
        title: 'Became 0',
        width: 96,
        number: true,
        help: 'share of all elements that became zero when this tensor was rounded to its dtype: counted, not estimated',
        cell: (row) =>
          row.rounding
            ? this.share(roundedShare(row), 'tensors[].rounding')
            : h('span', { class: 'quiet', title: 'not counted for this tensor' }, '–'),
      },
      {
        id: 'underflow',
        title: 'Flushes',
        width: 88,
        number: true,
        help: 'share of all elements that would round to zero in the chosen type, as recorded',
        cell: (row) => this.share(row.underflow[this.type_.id], 'tensors[].underflow'),
      },
      {
        id: 'overflow',
        title: 'Overflows',
        width: 98,
        number: true,
        help: 'share of all elements that would leave the range of the chosen type, as recorded',
        cell: (row) => this.share(row.overflow[this.type_.id], 'tensors[].overflow'),
      },
      {
        id: 'nonfinite',
        title: 'NaN, ∞',
        width: 74,
        number: true,
        cell: (row) =>
          row.nonFinite === 0
            ? h('span', { class: 'quiet' }, '0')
            : h('span', { class: 'lost' }, f.integer(row.nonFinite)),
      },
    ];
  }

  private controls(): HTMLElement {
    const set = (change: Partial<TensorFilter>) => {
      this.filter_ = { ...this.filter_, ...change };
      this.refresh();
    };
    const search = on(h('input', { type: 'search', id: 'tensor-text', size: 16, placeholder: 'name …' }), {
      input: () => set({ text: search.value }),
    });
    const all = (values: string[]): [string, string][] => [
      ['', 'all'],
      ...values.map((v): [string, string] => [v, v.replace(/_/g, ' ')]),
    ];
    const steps = [...new Set(this.rows_.flatMap((row) => (row.step === null ? [] : [row.step])))].sort(
      (a, b) => a - b,
    );
    const dtypes = distinct(this.rows_.map((row) => row.dtype || null));
    return h(
      'div',
      { class: 'controls' },
      h('label', { class: 'control' }, h('span', {}, 'Search'), search),
      select('Role', 'tensor-role', all(distinct(this.rows_.map((row) => row.role))), (role) => set({ role })),
      select('Dtype', 'tensor-dtype', [['', 'all'], ...dtypes.map((v): [string, string] => [v, v])], (dtype) =>
        set({ dtype }),
      ),
      select('Step', 'tensor-step', all(steps.map(String)), (step) => set({ step })),
      select(
        'Judged as',
        'tensor-type',
        kNarrowTypes.map((type): [string, string] => [type.id, type.id]),
        (id) => {
          this.type_ = kNarrowTypes.find((type) => type.id === id) ?? kNarrowTypes[0];
          this.refresh(true);
          if (this.selected_) this.choose(this.selected_, false);
        },
      ),
      this.summary_,
    );
  }

  private refresh(keepPlace = false): void {
    const rows = sortTensors(
      filterTensors(this.rows_, this.filter_),
      this.order_.column,
      this.order_.descending,
      this.type_.id,
    );
    this.summary_.textContent = `${f.integer(rows.length)} of ${f.plural(this.rows_.length, 'row')}`;
    this.table_.setRows(rows, keepPlace);
  }

  private choose(row: TensorRow, fromList: boolean): void {
    this.selected_ = row;
    const detail = new TensorDetail(row, this.type_, (type) => {
      this.type_ = type;
      const picker = this.list.querySelector<HTMLSelectElement>('#tensor-type');
      if (picker) picker.value = type.id;
      this.refresh(true);
    });
    this.detail.replaceChildren(detail.element);
    this.refresh(true);
    if (fromList) this.list.querySelector<HTMLElement>('tr.selected')?.focus();
  }
}

export function buildTensors(report: Report, panel: HTMLElement): void {
  if (report.tensors.length === 0) {
    panel.append(section('Tensors', empty(notMeasured(report, 'tensors', true))));
    return;
  }
  const view = new TensorsView(report);
  const left =
    report.tensors_left_out > 0 ? ` ${f.integer(report.tensors_left_out)} rows were left out to bound the report.` : '';
  panel.append(
    section(
      'Tensors',
      h('p', { class: 'hint' }, `Magnitudes of weights, activations and gradients on the sampled steps.${left}`),
      h('div', { class: 'split' }, view.list, view.detail),
    ),
  );
}
