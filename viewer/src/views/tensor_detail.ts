// One tensor: its histogram, the loss-scale slider, and what each narrow type would lose at that scale, live.

import * as f from '../lib/format.ts';
import { button, h, name, on, type Child } from '../lib/dom.ts';
import { responsive } from '../lib/chart.ts';
import { dtypeChip, plainTable } from '../lib/parts.ts';
import { kNarrowTypes, type NarrowType } from '../model/narrow_types.ts';
import { flushed, isExact, overflowed, subnormal, suggest, type Bound, type Distribution } from '../model/what_if.ts';
import { movesWithLossScale, type TensorRow } from '../model/tensor_rows.ts';
import { drawHistogram, kHistogramHeight } from './histogram.ts';

const kSliderReach = 48; // binades to each side of the recorded scale

export class TensorDetail {
  readonly element = h('div', { class: 'tensor-detail' });
  private readonly d_: Distribution;
  private shift_ = 0;
  private log_ = false;
  private readonly chart_: ReturnType<typeof responsive>;
  private readonly slider_ = h('input', {
    type: 'range',
    id: 'loss-scale',
    min: -kSliderReach,
    max: kSliderReach,
    step: 1,
    value: 0,
  });
  private readonly output_ = h('output', { for: 'loss-scale', id: 'loss-scale-value' });
  private readonly legend_ = h('div', { class: 'legend' });
  private readonly table_ = h('div', { id: 'what-if', 'aria-live': 'polite' });
  private readonly advice_ = h('div', { id: 'best-scale' });

  constructor(
    private readonly row_: TensorRow,
    private chosen_: NarrowType,
    private readonly onChosen_: (type: NarrowType) => void,
  ) {
    this.d_ = row_.distribution();
    this.chart_ = responsive(`Histogram of exponents of ${row_.name}`, kHistogramHeight, (width) =>
      drawHistogram({ distribution: this.d_, shift: this.shift_, chosen: this.chosen_, log: this.log_ }, width),
    );
    on(this.slider_, { input: () => this.move(Number(this.slider_.value)) });
    this.element.append(
      h('h2', {}, name(row_.name)),
      h('p', { class: 'hint' }, this.facts()),
      this.chart_.element,
      this.legend_,
      h(
        'div',
        { class: 'slider' },
        h('label', { for: 'loss-scale' }, movesWithLossScale(row_) ? 'Loss scale' : 'Multiply by'),
        this.slider_,
        this.output_,
      ),
      h('div', { class: 'controls' }, this.buttons()),
      this.table_,
      this.advice_,
    );
    this.refresh();
  }

  get moving(): boolean {
    return movesWithLossScale(this.row_) && this.row_.scale !== null;
  }

  private facts(): Child[] {
    const row = this.row_;
    const out: Child[] = [
      dtypeChip(row.dtype || 'mixed dtypes'),
      ` ${row.role.replace(/_/g, ' ')}, ${row.step === null ? 'all sampled steps' : `step ${row.step}`}, ${f.plural(row.count, 'element')}`,
    ];
    if (row.scale !== null && movesWithLossScale(row)) out.push(`, carries loss scale ${f.scale(row.scale)}`);
    if (row.minAbs !== null && row.maxAbs !== null)
      out.push(`; non-zero magnitudes ${f.magnitude(row.minAbs)} to ${f.magnitude(row.maxAbs)}`);
    if (row.rounding)
      out.push(
        `. While it was rounded to its dtype ${f.integer(row.rounding.to_zero)} values became 0 ` +
          `and ${f.integer(row.rounding.to_inf)} infinite; no scale brings those back`,
      );
    return [...out, '.'];
  }

  private buttons(): Child[] {
    const set = (k: number) => this.move(Math.max(-kSliderReach, Math.min(kSliderReach, k)));
    const scale = this.row_.scale;
    const exponent = scale !== null && scale > 0 ? Math.log2(scale) : NaN;
    const logButton = button('log counts', { class: 'plain', 'aria-pressed': false, id: 'log-counts' }, () => {
      this.log_ = !this.log_;
      logButton.setAttribute('aria-pressed', String(this.log_));
      this.chart_.redraw();
    });
    return [
      button('as recorded', { class: 'plain', id: 'scale-recorded' }, () => set(0)),
      this.moving &&
        Number.isInteger(exponent) &&
        exponent !== 0 &&
        button('no scale', { class: 'plain', id: 'scale-none' }, () => set(-exponent)),
      button('best for the type', { class: 'plain', id: 'scale-best' }, () => {
        const best = suggest(this.d_, this.chosen_);
        if (best) set(best.best);
      }),
      logButton,
    ];
  }

  private move(k: number): void {
    this.shift_ = k;
    this.slider_.value = String(k);
    this.refresh();
  }

  /** A shift as the reader knows it: an absolute loss scale for gradients, a factor for the rest. */
  private label(k: number): string {
    const scale = this.row_.scale;
    return this.moving && scale !== null ? f.scale(scale * 2 ** k) : `× ${f.pow2(k)}`;
  }

  private cell(bound: Bound, bad: boolean): Child {
    const d = this.d_;
    const share = (n: number) => f.percent(d.count ? n / d.count : 0);
    const exact = isExact(bound);
    const text = [
      f.bound(bound.low, bound.high, f.integer),
      h('span', { class: 'quiet' }, ` (${f.bound(bound.low, bound.high, share)})`),
    ];
    const title = exact
      ? 'exact'
      : 'a bound: the border of the type cuts a bin of the histogram, its values may lie on either side';
    return h(
      'span',
      { class: bad && bound.low > 0 ? 'lost' : '', title, 'data-low': bound.low, 'data-high': bound.high },
      exact ? '' : 'between ',
      text,
    );
  }

  private refresh(): void {
    const k = this.shift_;
    this.output_.textContent = this.label(k) + (k === 0 ? ' as recorded' : '');
    this.slider_.setAttribute('aria-valuetext', this.label(k));
    const rows = kNarrowTypes.map((type) => {
      const chosen = type === this.chosen_;
      const pick = button(
        dtypeChip(type.id),
        { class: 'link', 'aria-pressed': chosen, title: 'judge the bars by this type' },
        () => {
          this.chosen_ = type;
          this.onChosen_(type);
          this.refresh();
        },
      );
      return {
        type,
        cells: [
          pick,
          this.cell(flushed(this.d_, type, k), true),
          this.cell(subnormal(this.d_, type, k), false),
          this.cell(overflowed(this.d_, type, k), true),
          this.best(type),
        ],
      };
    });
    const table = plainTable(
      'What each type would lose at this scale',
      ['Type', 'Flush to zero', 'Subnormal', 'Overflow', 'Best scale'],
      rows.map((row) => row.cells),
      [1, 2, 3],
    );
    table.querySelectorAll('tbody tr').forEach((tr, i) => {
      tr.setAttribute('data-type', rows[i].type.id);
      if (rows[i].type === this.chosen_) tr.classList.add('chosen');
    });
    this.table_.replaceChildren(table);
    const fates: [string, string][] = [
      ['b-normal', 'representable'],
      ['b-sub', 'subnormal: loses bits'],
      ['b-flush', 'flushes to zero'],
      ['b-over', 'overflows'],
    ];
    this.legend_.replaceChildren(
      h('span', {}, `Bars as ${this.chosen_.id}:`),
      ...fates.map(([fate, text]) => h('span', {}, h('span', { class: `swatch ${fate}` }), text)),
    );
    this.advice_.replaceChildren(...this.advice());
    this.chart_.redraw();
  }

  /** True if the values fit the type as they are, without any scale: then no scale is the best one. */
  private fitsUnscaled(type: NarrowType): boolean {
    const scale = this.row_.scale ?? 1;
    const k = this.moving ? -Math.log2(scale) : 0;
    return Number.isInteger(k) && flushed(this.d_, type, k).high === 0 && overflowed(this.d_, type, k).high === 0;
  }

  private best(type: NarrowType): Child {
    const best = suggest(this.d_, type);
    if (!best) return '–';
    return this.fitsUnscaled(type) ? 'none needed' : this.label(best.best);
  }

  private advice(): HTMLElement[] {
    const type = this.chosen_;
    const best = suggest(this.d_, type);
    const bounds = h(
      'p',
      { class: 'hint' },
      'Counts are exact for a scale that is a power of two, except where a border of the type cuts a bin; ' +
        'then both ends are given. Shares are of all elements.',
    );
    if (!best) return [h('p', {}, 'There is no non-zero finite value, so no scale helps or hurts.'), bounds];
    const word = this.moving ? 'loss scale' : 'factor';
    const gone = this.row_.rounding?.to_zero ?? 0;
    const unseen =
      gone > 0
        ? ` But ${f.plural(gone, 'value')} became zero when the tensor was rounded at the recorded scale: ` +
          'the histogram does not hold them, and only a larger scale could have kept them.'
        : '';
    if (this.fitsUnscaled(type)) {
      return [
        h(
          'p',
          {},
          h('b', {}, `${type.id} needs no ${word} here`),
          ': unscaled, nothing flushes to zero and nothing overflows. ',
          `Nothing is lost from ${this.label(best.from)} to ${this.label(best.best)}.${unseen}`,
        ),
        bounds,
      ];
    }
    const lost = f.bound(best.flushedAtBest.low, best.flushedAtBest.high, f.integer);
    const range =
      best.from < best.best
        ? `Every ${word} from ${this.label(best.from)} to ${this.label(best.best)} does as well; leave a binade or two for gradients that grow.`
        : `A smaller one flushes more.`;
    const moved = movesWithLossScale(this.row_)
      ? ''
      : ' A loss scale moves gradients only: for this tensor it shows what a scaled conversion, as float8 needs, would do.';
    return [
      h(
        'p',
        {},
        h('b', {}, `Best for ${type.id}: ${this.label(best.best)}`),
        `, the largest without overflow; ${lost} of ${f.plural(this.d_.nonZero, 'non-zero value')} flush to zero there. `,
        `${range}${unseen}${moved}`,
      ),
      bounds,
    ];
  }
}
