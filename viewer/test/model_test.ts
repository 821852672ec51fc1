// The model without a page: the what-if numbers against rounding every value one by one, the reader against damaged
// reports, filters, sorting, the stretched axis, the sentences.

import assert from 'node:assert/strict';
import test from 'node:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as f from '../src/lib/format.ts';
import { sorted } from '../src/lib/sort.ts';
import { answers, bySeverity } from '../src/model/answers.ts';
import { parseReport, readReport, ReportError, whyNotMeasured } from '../src/model/load.ts';
import { exponentOf, kNarrowTypes, narrowType } from '../src/model/narrow_types.ts';
import { castsByCause, castsOf, filterOps, kNoFilter, sortOps } from '../src/model/op_rows.ts';
import { makeStepAxis } from '../src/model/step_axis.ts';
import { filterTensors, kNoTensorFilter, tensorRows } from '../src/model/tensor_rows.ts';
import { firstEndingAfter, indexTimeline, sliceAt } from '../src/model/timeline_index.ts';
import { countBelow, distributionOf, flushed, isExact, merge, overflowed, suggest } from '../src/model/what_if.ts';
import {
  bigReport,
  collapseReport,
  emptyReport,
  gradientValues,
  hostileReport,
  kLayers,
  makeRandom,
  makeReport,
  normal,
  scaledValues,
} from './make_sample.ts';
import { kFormatIds, lossesAt, roundTo, statisticsOf, type FormatId } from './rounding.ts';

function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new assert.AssertionError({ message: 'value is missing' });
  return value;
}

const tensorOf = (values: number[], dtype = 'float32', more = {}): any => ({
  name: 't',
  role: 'gradient',
  dtype,
  step: 0,
  process: 1,
  scale: 1,
  rounding: null,
  ...statisticsOf(values),
  ...more,
});

test('the borders of the four types are those of rounding to nearest even', () => {
  for (const type of kNarrowTypes) {
    const id = type.id as FormatId;
    const up = (x: number) => x * (1 + 2 ** -50);
    const down = (x: number) => x * (1 - 2 ** -50);
    assert.equal(roundTo(type.zeroUpTo, id), 0, `${id}: half of the smallest subnormal is zero`);
    assert.equal(roundTo(up(type.zeroUpTo), id), 2 ** type.minSubnormalExponent, id);
    assert.equal(roundTo(down(type.overflowFrom), id), type.max, id);
    assert.equal(roundTo(up(type.overflowFrom), id), Infinity, id);
    assert.equal(roundTo(type.overflowFrom, id) === Infinity, type.overflowIncludesBorder, `${id}: the border itself`);
    assert.equal(roundTo(type.max, id), type.max, id);
  }
});

test('exponentOf is exact at powers of two', () => {
  for (let e = -149; e <= 127; ++e) {
    assert.equal(exponentOf(2 ** e), e);
    assert.equal(exponentOf(2 ** e * (2 - 2 ** -23)), e);
    if (e > -149) assert.equal(exponentOf(2 ** e * (1 - 2 ** -50)), e - 1);
  }
});

interface Sample {
  what: string;
  values: number[];
  dtype: string;
}

function samples(): Sample[] {
  const random = makeRandom(7);
  const wide = Array.from({ length: 1200 }, () => Math.fround(2 ** (9 * normal(random) - 6)));
  const powers = Array.from({ length: 60 }, (_, i) => 2 ** (i - 40)).flatMap((p) => [p, -p, Math.fround(1.5 * p)]);
  return [
    { what: 'a wide float32 tensor', values: wide, dtype: 'float32' },
    {
      what: 'the same rounded to float16',
      values: wide.map((v) => roundTo(v, 'float16')).map((v) => (Number.isFinite(v) ? v : 65504)),
      dtype: 'float16',
    },
    { what: 'the same rounded to bfloat16', values: wide.map((v) => roundTo(v, 'bfloat16')), dtype: 'bfloat16' },
    { what: 'powers of two, where ties and borders are', values: powers, dtype: 'float32' },
    { what: 'one value', values: [2 ** -25], dtype: 'float32' },
    {
      what: 'borders of overflow',
      values: [65504, 65519.996, 65520, 65536, 464, 464.01, 61440, 61439.9, 1],
      dtype: 'float64',
    },
    { what: 'zeros, NaN and infinities', values: [0, -0, NaN, Infinity, -Infinity, 1e-9, 3], dtype: 'float32' },
    { what: 'a gradient of the sample run', values: gradientValues(3, 100), dtype: 'float32' },
    { what: 'the same, scaled and stored in float16', values: scaledValues(3, 100), dtype: 'float16' },
  ];
}

for (const { what, values, dtype } of samples()) {
  test(`what would be lost at each scale bounds the truth: ${what}`, () => {
    const d = distributionOf(tensorOf(values, dtype));
    let exact = 0;
    let all = 0;
    for (let k = -45; k <= 45; ++k) {
      for (const type of kNarrowTypes) {
        const truth = lossesAt(values, k, type.id as FormatId);
        for (const [bound, n] of [
          [flushed(d, type, k), truth.flushed],
          [overflowed(d, type, k), truth.overflowed],
        ] as const) {
          assert.ok(bound.low <= n && n <= bound.high, `${type.id} k=${k}: ${n} not in [${bound.low}, ${bound.high}]`);
          // A bound may leave open no more than the one bin that the border cuts.
          const most = Math.max(0, ...d.counts);
          assert.ok(
            bound.high - bound.low <= most,
            `${type.id} k=${k}: [${bound.low}, ${bound.high}] is wider than a bin`,
          );
          if (k === 0) assert.ok(isExact(bound), `${type.id} at the recorded scale: the report counted exactly`);
          all += 1;
          if (isExact(bound)) exact += 1;
        }
      }
    }
    assert.ok(exact / all > 0.4, `only ${exact} of ${all} numbers are exact`);
    if (dtype === 'float16') {
      for (let k = -45; k <= 45; ++k)
        assert.ok(
          isExact(overflowed(d, kNarrowTypes[0], k)),
          `a float16 tensor has no value inside the cut bin, k=${k}`,
        );
    }
  });
}

test('without exact counts and extremes the bins alone still give a bound, and it is the documented one', () => {
  const t = tensorOf([2 ** -25, 1.5 * 2 ** -25, 2 ** -26, 1], 'float32', {
    min_abs_nonzero: null,
    max_abs: null,
    underflow: {},
    overflow: {},
  });
  const none = { float16: null, bfloat16: null, float8_e4m3fn: null, float8_e5m2: null };
  const d = distributionOf({ ...t, underflow: none, overflow: none });
  assert.deepEqual(
    flushed(d, kNarrowTypes[0], 0),
    { low: 1, high: 3 },
    'the bin at 2^-25 holds the half that goes to zero, and others',
  );
  assert.deepEqual(flushed(d, kNarrowTypes[0], 1), { low: 0, high: 1 });
  assert.deepEqual(countBelow(d, 2 ** -25, false), { low: 1, high: 1 }, 'a power of two as an open border cuts no bin');
});

test('several tensors taken as one lose what they lose one by one', () => {
  const parts = kLayers.map((_, layer) => gradientValues(layer, 0));
  const whole = merge(parts.map((values) => distributionOf(tensorOf(values))));
  const values = parts.flat();
  assert.equal(whole.count, values.length);
  assert.equal(whole.nonZero, values.filter((v) => v !== 0).length);
  for (const k of [-20, -3, 0, 1, 9, 13, 16, 30]) {
    for (const type of kNarrowTypes) {
      const truth = lossesAt(values, k, type.id as FormatId);
      const low = flushed(whole, type, k);
      const high = overflowed(whole, type, k);
      assert.ok(low.low <= truth.flushed && truth.flushed <= low.high, `${type.id} k=${k}`);
      assert.ok(high.low <= truth.overflowed && truth.overflowed <= high.high, `${type.id} k=${k}`);
      if (k === 0) assert.ok(isExact(low) && isExact(high));
    }
  }
});

test('the best scale overflows nowhere, a larger one does, and it flushes least', () => {
  for (const { values, dtype } of samples()) {
    const d = distributionOf(tensorOf(values, dtype));
    for (const type of kNarrowTypes) {
      const best = present(suggest(d, type));
      assert.equal(lossesAt(values, best.best, type.id as FormatId).overflowed, 0, type.id);
      assert.ok(
        lossesAt(values, best.best + 1, type.id as FormatId).overflowed > 0,
        `${type.id}: twice the best scale must overflow`,
      );
      const at = lossesAt(values, best.best, type.id as FormatId).flushed;
      assert.ok(best.flushedAtBest.low <= at && at <= best.flushedAtBest.high);
      assert.ok(flushed(d, type, best.from - 1).high > best.flushedAtBest.high, 'one binade lower flushes more');
    }
  }
  assert.equal(suggest(distributionOf(tensorOf([0, 0])), kNarrowTypes[0]), null);
});

test('a report that is none is refused with a sentence that names what is wrong', () => {
  const cases: [string, RegExp][] = [
    ['{', /not JSON/],
    ['[1]', /no JSON object/],
    ['{}', /"schema" is nothing/],
    ['{"schema": "ampprof-report/2"}', /"ampprof-report\/2", need "ampprof-report\/1"/],
    ['{"schema": "ampprof-report/10"}', /need "ampprof-report\/1"/],
    ['{"traceEvents": []}', /"schema" is nothing/],
  ];
  for (const [text, message] of cases) {
    assert.throws(
      () => parseReport(text),
      (error: unknown) => error instanceof ReportError && message.test(error.message),
      text,
    );
  }
});

test('a damaged report opens: missing keys and wrong types become empty or not measured', () => {
  const bare = readReport({ schema: 'ampprof-report/1' });
  assert.equal(bare.memory.saved_bytes, null);
  assert.deepEqual(bare.ops, []);
  assert.equal(answers(bare).length, 8);
  const wrong = readReport({
    schema: 'ampprof-report/1',
    ops: 'x',
    tensors: [null, 3, {}],
    memory: 7,
    loss_scale: [],
    target: { command: { a: 1 }, wall_ns: 'long' },
    not_measured: ['x'],
  });
  assert.equal(wrong.tensors.length, 3);
  assert.equal(wrong.target.wall_ns, null);
  assert.ok(answers(wrong).every((a) => a.figure !== 'NaN'));
});

test('every key of a good report survives reading', () => {
  const raw = makeReport();
  const read = readReport(JSON.parse(JSON.stringify(raw))) as any;
  for (const key of ['ops', 'casts', 'tensors', 'memory', 'loss_scale', 'timeline', 'findings', 'totals']) {
    assert.deepEqual(JSON.parse(JSON.stringify(read[key])), JSON.parse(JSON.stringify(raw[key])), key);
  }
});

test('memory is told of the training steps, where evaluation has the peak of the run', () => {
  const report = makeReport();
  Object.assign(report.memory, { peak_bytes: 2 ** 29, peak_bytes_if_fp32: 2 ** 29, saved_bytes: 0 });
  assert.equal(answerOf(report, 'memory').figure, '18.5 MiB');
  assert.match(answerOf(report, 'memory').sentence, /of the training steps/);
  report.memory.in_steps.peak_bytes = null;
  assert.equal(answerOf(report, 'memory').figure, '0 B');
});

test('a reason speaks for everything below its path', () => {
  const report = readReport({
    schema: 'ampprof-report/1',
    not_measured: { tensor_cores: 'no GPU', 'ops[].gpu_ns': 'CPU run', 'memory.timeline': 'too long' },
  });
  assert.equal(whyNotMeasured(report, 'tensor_cores.kernel_time_share'), 'no GPU');
  assert.equal(whyNotMeasured(report, 'ops[].gpu_ns'), 'CPU run');
  assert.equal(whyNotMeasured(report, 'memory.timeline'), 'too long');
  assert.match(whyNotMeasured(report, 'memory.peak_bytes'), /no reason/);
  assert.match(whyNotMeasured(report, 'ops[].flops'), /no reason/);
});

test('ops are filtered by words, dtype, phase and reason, and sorted with what is missing last', () => {
  const report = readReport(makeReport());
  const names = (filter: object) => filterOps(report.ops, { ...kNoFilter, ...filter }).map((op) => op.name);
  assert.deepEqual(names({ text: 'softmax' }), ['log_softmax']);
  assert.deepEqual(names({ text: 'fc1 linear' }), ['linear'], 'all words must be found, also in the module');
  assert.deepEqual(names({ dtype: 'int64' }), ['nll_loss'], 'input dtypes count');
  assert.deepEqual(names({ phase: 'optimizer' }), ['sgd_step', 'add_']);
  assert.deepEqual(names({ reason: 'promoted to widest' }), ['mul']);
  assert.deepEqual(names({ text: 'nothing like it' }), []);
  for (const descending of [true, false]) {
    const byFlops = sortOps(report.ops, 'flops', descending).map((op) => op.flops);
    assert.equal(byFlops[byFlops.length - 1], null);
    const known = byFlops.filter((x): x is number => x !== null);
    assert.deepEqual(
      known,
      [...known].sort((a, b) => (descending ? b - a : a - b)),
    );
  }
  assert.deepEqual(
    sorted([3, 1, 2], (n) => n, false),
    [1, 2, 3],
  );
});

test('casts stand under the op and phase that caused them', () => {
  const report = readReport(makeReport());
  const byCause = castsByCause(report.casts);
  const conv = present(report.ops.find((op) => op.name === 'conv2d'));
  const backward = present(report.ops.find((op) => op.name === 'conv2d_backward'));
  assert.deepEqual(
    castsOf(conv, byCause).map((cast) => cast.count),
    [900],
  );
  assert.deepEqual(castsOf(backward, byCause), []);
});

test('gradients of one step and scale are also shown as one row', () => {
  const rows = tensorRows(readReport(makeReport()));
  const pools = rows.filter((row) => row.members > 1);
  assert.equal(pools.length, 9, 'four sampled steps, scaled and unscaled, and all unscaled of all steps');
  const all = present(pools.find((row) => row.step === null));
  assert.equal(all.members, 4 * kLayers.length);
  const everything = [0, 100, 200, 299].flatMap((step) => kLayers.flatMap((_, layer) => gradientValues(layer, step)));
  assert.equal(all.distribution().nonZero, everything.filter((v) => v !== 0).length);
  const one = makeReport();
  one.tensors = one.tensors.filter((t: any) => t.step === 100);
  assert.equal(
    tensorRows(readReport(one)).filter((row) => row.members > 1).length,
    2,
    'one sampled step is not pooled twice',
  );
  const pool = present(pools.find((row) => row.role === 'unscaled_gradient' && row.step === 100));
  const values = kLayers.flatMap((_, layer) => gradientValues(layer, 100));
  for (const id of kFormatIds) assert.equal(pool.underflow[id], lossesAt(values, 0, id).flushed / values.length, id);
  assert.equal(filterTensors(rows, { ...kNoTensorFilter, role: 'weight', step: '299' }).length, kLayers.length);
});

test('a run of 91 skipped steps among 20 000 keeps its steps apart, and the axis stays monotone', () => {
  const axis = makeStepAxis(0, 20000, 1200, [{ first: 12000, last: 12090 }]);
  assert.equal(axis.stretched.length, 1);
  for (let step = 12000; step < 12091; ++step) assert.ok(axis.x(step + 1) - axis.x(step) >= 3, `step ${step}`);
  for (let step = 0; step < 20000; step += 7) assert.ok(axis.x(step + 7) > axis.x(step));
  assert.equal(axis.x(0), 0);
  assert.ok(Math.abs(axis.x(20000) - 1200) < 1e-6);
  const many = makeStepAxis(
    0,
    100000,
    1000,
    Array.from({ length: 300 }, (_, i) => ({ first: i * 300, last: i * 300 + 4 })),
  );
  assert.ok(Math.abs(many.x(100000) - 1000) < 1e-6, 'hundreds of runs share half of the axis');
  const whole = makeStepAxis(0, 10, 1000, [{ first: 0, last: 9 }]);
  assert.equal(whole.stretched.length, 0);
  assert.ok(Math.abs(whole.x(5) - 500) < 1e-6);
});

test('slices that overlap within a depth get lanes of their own, steps the first', () => {
  const raw = makeReport();
  const at = (kind: string, start_ns: number, dur_ns: number) => ({
    track: 1,
    kind,
    name: kind,
    start_ns,
    dur_ns,
    depth: 0,
    step: 0,
    dtype: null,
    from: null,
    phase: null,
    reason: null,
    module: null,
  });
  raw.timeline.slices = [at('step', 0, 100), at('op', 5, 20), at('op', 10, 5), at('op', 30, 10), at('step', 100, 50)];
  const [track] = indexTimeline(readReport(raw)).tracks;
  assert.deepEqual(
    track.lanes.map((lane) => lane.slices.map((slice) => slice.start_ns)),
    [[0, 100], [5, 30], [10]],
  );
});

test('the timeline finds the slice under a point by bisection', () => {
  const report = readReport(bigReport());
  const index = indexTimeline(report);
  for (const track of index.tracks) {
    for (const lane of track.lanes) {
      for (let i = 1; i < lane.slices.length; ++i) assert.ok(lane.slices[i].start_ns >= lane.slices[i - 1].start_ns);
      const some = lane.slices[Math.floor(lane.slices.length / 2)];
      assert.equal(sliceAt(lane, some.start_ns + some.dur_ns / 2, 0), some);
      assert.equal(lane.slices[firstEndingAfter(lane, some.start_ns)], some);
    }
  }
  assert.equal(indexTimeline(readReport(emptyReport())).tracks.length, 0);
});

const answerOf = (raw: unknown, id: string) =>
  present(answers(readReport(JSON.parse(JSON.stringify(raw)))).find((a) => a.id === id));

test('the sentences say what the report holds', () => {
  assert.match(
    answerOf(makeReport(), 'ran').sentence,
    /Exit code 0\. 300 training steps, tensor statistics on 4 of them\. On the CPU\./,
  );
  assert.equal(answerOf(makeReport(), 'tensor_cores').figure, null);
  assert.equal(answerOf(makeReport(), 'memory').figure, '18.5 MiB');
  assert.match(answerOf(makeReport(), 'memory').sentence, /^saved/);
  assert.match(answerOf(collapseReport(), 'memory').sentence, /more than float32 would need.*the saving is negative/);
  assert.equal(answerOf(collapseReport(), 'loss_scale').tone, 'bad');
  for (const a of answers(readReport(emptyReport()))) assert.equal(a.figure, null, `${a.id} was not measured`);
  assert.equal(
    answerOf(emptyReport(), 'ran').sentence,
    'Exit code 0.',
    'where a program ran that was not seen is not known',
  );
  const killed = makeReport();
  killed.target.exit_code = 137;
  killed.target.signal = 9;
  assert.match(answerOf(killed, 'ran').sentence, /Ended by signal 9/);
});

test('gradients stored in float16 are judged by what was counted while rounding, never by their own values', () => {
  const report = makeReport();
  const gradients = report.tensors.filter((t: any) => t.role === 'gradient');
  const lost = gradients.reduce((n: number, t: any) => n + t.rounding.to_zero, 0);
  assert.ok(lost > 0);
  assert.equal(
    answerOf(report, 'underflow').figure,
    f.percent(lost / gradients.reduce((n: number, t: any) => n + t.count, 0)),
  );
  for (const t of gradients) t.rounding = null;
  assert.equal(answerOf(report, 'underflow').figure, null, 'their values cannot tell: not measured, not 0 %');
});

test('findings come worst first', () => {
  const order = bySeverity([
    { severity: 'info' },
    { severity: 'critical' },
    { severity: 'odd' },
    { severity: 'warning' },
  ]).map((x) => x.severity);
  assert.deepEqual(order, ['critical', 'warning', 'info', 'odd']);
});

test('numbers never print a small share as 0 % nor an almost whole one as 100 %', () => {
  const cases: [number, string][] = [
    [0, '0 %'],
    [1e-7, '<0.01 %'],
    [0.5, '50.0 %'],
    [0.999999, '>99.99 %'],
    [1, '100 %'],
    [0.0042, '0.42 %'],
  ];
  for (const [share, text] of cases) assert.equal(f.percent(share), text);
  assert.equal(f.bytes(-33554432), '−32.0 MiB');
  assert.equal(f.bytes(1023), '1023 B');
  assert.equal(f.bytes(1048575), '1.00 MiB');
  assert.equal(f.duration(1.5e6), '1.50 ms');
  assert.equal(f.duration(125e9), '2 min 5 s');
  assert.equal(f.scale(65536), '2¹⁶ (65\u202f536)');
  assert.equal(f.scale(2 ** -74), '2⁻⁷⁴ (5.29e−23)');
  assert.equal(f.scale(1000), '1\u202f000');
  assert.equal(f.integer(-1234567), '−1\u202f234\u202f567');
});

test('hostile names reach no prototype', () => {
  const report = readReport(JSON.parse(JSON.stringify(hostileReport())));
  assert.equal(report.target.facts.__proto__, 'a fact');
  assert.equal((Object.prototype as any).polluted, undefined);
  assert.equal(narrowType('constructor'), null);
});

const samplesDir = process.env.AMP_VIEWER_SAMPLES ?? '';
/** Paths of keys in a JSON value; elements of a list share "[]", keys of maps that are data share "*". */
function keyPaths(value: any, at = '', out = new Set<string>()): Set<string> {
  if (Array.isArray(value)) value.forEach((item) => keyPaths(item, `${at}[]`, out));
  else if (typeof value === 'object' && value !== null) {
    const isData = /(^|\.)(facts|dropped|by_compute_dtype|by_cause|by_dtype|evidence|not_measured)$/.test(at);
    for (const [key, item] of Object.entries(value)) {
      const path = isData ? `${at}.*` : at === '' ? key : `${at}.${key}`;
      out.add(path);
      if (!/evidence$/.test(at)) keyPaths(item, path, out);
    }
  }
  return out;
}

test(
  'the page reads no key that the report writer does not write',
  { skip: !existsSync(samplesDir) && 'no samples' },
  () => {
    for (const file of readdirSync(samplesDir).filter((name: string) => name.endsWith('.json'))) {
      const raw = JSON.parse(readFileSync(join(samplesDir, file), 'utf8'));
      const written = keyPaths(raw);
      const read = keyPaths(JSON.parse(JSON.stringify(readReport(raw))));
      assert.deepEqual(
        [...read].filter((path) => !written.has(path)),
        [],
        file,
      );
      assert.ok(read.size > 100);
    }
  },
);

test(
  'the sample reports of the report writer read without loss',
  { skip: !existsSync(samplesDir) && 'no samples' },
  () => {
    const files = readdirSync(samplesDir).filter((file: string) => file.endsWith('.json'));
    for (const file of files) {
      const raw = JSON.parse(readFileSync(join(samplesDir, file), 'utf8'));
      const report = readReport(raw);
      assert.equal(report.ops.length, raw.ops.length, file);
      for (const t of report.tensors) {
        const d = distributionOf(t);
        assert.equal(
          d.nonZero + d.zero + d.nonFinite,
          d.count,
          `${file}: ${t.name}: the bins hold every finite non-zero element`,
        );
      }
    }
  },
);
