// A sortable table of any length: only the rows in sight exist. It is a real <table>, so that it reads as one to
// assistive software; two empty rows stand for what is above and below. The rows come in final order: the view sorts
// (it may keep child rows under their parent), the table only reports the wish through onSort.

import { button, h, on, type Child } from './dom.ts';

export interface Column<R> {
  id: string;
  title: string;
  help?: string;
  width: number | null; // pixels; null takes what is left
  number?: boolean;
  sortable?: boolean;
  cell(row: R): Child;
}

export interface SortOrder {
  column: string;
  descending: boolean;
}

export interface TableOptions<R> {
  label: string;
  columns: Column<R>[];
  sort: SortOrder;
  onSort(order: SortOrder): void;
  rowClass?(row: R): string;
  onSelect?(row: R): void;
}

const kRowHeight = 26; // as in style.css
const kOverscan = 12;

export class VirtualTable<R> {
  readonly element: HTMLElement;
  private rows_: R[] = [];
  private shown_ = new Map<number, HTMLTableRowElement>();
  private readonly scroller_: HTMLElement;
  private readonly body_ = h('tbody');
  private readonly above_ = h('tr', { 'aria-hidden': 'true' }, h('td'));
  private readonly below_ = h('tr', { 'aria-hidden': 'true' }, h('td'));
  private readonly table_: HTMLTableElement;
  private readonly heads_ = new Map<string, HTMLTableCellElement>();
  private sort_: SortOrder;

  constructor(private readonly options_: TableOptions<R>) {
    this.sort_ = options_.sort;
    this.above_.firstElementChild?.setAttribute('colspan', String(options_.columns.length));
    this.below_.firstElementChild?.setAttribute('colspan', String(options_.columns.length));
    this.table_ = h(
      'table',
      { class: 'virtual', 'aria-label': options_.label },
      this.makeColumns(),
      this.makeHead(),
      this.body_,
    );
    const fixed = options_.columns.reduce((w, column) => w + (column.width ?? 150), 0);
    this.table_.style.minWidth = `${fixed}px`;
    this.scroller_ = h(
      'div',
      { class: 'table-frame scroller', tabindex: 0, role: 'region', 'aria-label': options_.label },
      this.table_,
    );
    on(this.scroller_, { scroll: () => requestAnimationFrame(() => this.paint()) });
    new ResizeObserver(() => this.paint()).observe(this.scroller_);
    this.element = this.scroller_;
    this.markSort();
  }

  private makeColumns(): HTMLElement {
    const columns = this.options_.columns.map((column) => {
      const element = h('col');
      if (column.width !== null) element.style.width = `${column.width}px`;
      return element;
    });
    return h('colgroup', {}, columns);
  }

  private makeHead(): HTMLElement {
    const cells = this.options_.columns.map((column) => {
      const label: Child =
        column.sortable === false
          ? column.title
          : button([column.title, h('span', { class: 'arrow', 'aria-hidden': 'true' })], { title: column.help }, () =>
              this.toggle(column),
            );
      const cell = h(
        'th',
        { scope: 'col', class: column.number ? 'number' : '', title: column.help, 'data-column': column.id },
        label,
      );
      this.heads_.set(column.id, cell);
      return cell;
    });
    return h('thead', {}, h('tr', {}, cells));
  }

  private toggle(column: Column<R>): void {
    const again = this.sort_.column === column.id;
    // Numbers are first wanted largest first, words from A.
    this.sort_ = { column: column.id, descending: again ? !this.sort_.descending : column.number === true };
    this.markSort();
    this.options_.onSort(this.sort_);
  }

  private markSort(): void {
    for (const [id, cell] of this.heads_) {
      if (id === this.sort_.column) cell.setAttribute('aria-sort', this.sort_.descending ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
    }
  }

  /** `keepPlace`: the rows changed below the reader's eye (an expansion), not the list as a whole. */
  setRows(rows: R[], keepPlace = false): void {
    this.rows_ = rows;
    this.shown_.clear();
    this.body_.replaceChildren(this.above_, this.below_);
    this.table_.setAttribute('aria-rowcount', String(rows.length + 1));
    if (!keepPlace) this.scroller_.scrollTop = 0;
    this.paint();
  }

  private makeRow(index: number): HTMLTableRowElement {
    const row = this.rows_[index];
    const cells = this.options_.columns.map((column) =>
      h('td', { class: column.number ? 'number' : '' }, column.cell(row)),
    );
    const element = h('tr', { 'aria-rowindex': index + 2, class: this.options_.rowClass?.(row) ?? '' }, cells);
    const select = this.options_.onSelect;
    if (select) {
      element.tabIndex = 0;
      on(element, {
        click: () => select(row),
        keydown: (event) => {
          if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            select(row);
          }
          const to = index + (event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0);
          if (to !== index && to >= 0 && to < this.rows_.length) {
            event.preventDefault();
            select(this.rows_[to]);
          }
        },
      });
    }
    return element;
  }

  private paint(): void {
    const height = this.scroller_.clientHeight || 600;
    const from = Math.max(0, Math.floor(this.scroller_.scrollTop / kRowHeight) - kOverscan);
    const to = Math.min(this.rows_.length, from + Math.ceil(height / kRowHeight) + 2 * kOverscan);
    for (const [index, element] of this.shown_) {
      if (index < from || index >= to) {
        element.remove();
        this.shown_.delete(index);
      }
    }
    let next: Element = this.below_;
    // Backwards, so that a row that stays in sight is not moved: moving would take the focus from it.
    for (let index = to - 1; index >= from; --index) {
      let element = this.shown_.get(index);
      if (!element) {
        element = this.makeRow(index);
        this.body_.insertBefore(element, next);
        this.shown_.set(index, element);
      }
      next = element;
    }
    this.above_.style.height = `${from * kRowHeight}px`;
    this.below_.style.height = `${(this.rows_.length - to) * kRowHeight}px`;
  }
}
