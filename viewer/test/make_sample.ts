// Reports for the tests: one that looks like a float16 training run with a GradScaler, and from it a hostile one, an
// empty one, a large one. Everything comes from a fixed seed. As a program it writes one of them:
// node make_sample.mjs KIND FILE

import { writeFileSync } from 'node:fs';
import { roundTo, statisticsOf } from './rounding.ts';

type Json = any; // the point of these reports is to be of any shape

/** A small seeded generator (mulberry32). */
export function makeRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

export const kLayers = ['conv1.weight', 'conv1.bias', 'conv2.weight', 'conv2.bias', 'fc1.weight', 'fc1.bias', 'fc2.weight', 'fc2.bias'];
export const kSampledSteps = [0, 100, 200, 299];
export const kScale = 8192;

/** Values of the unscaled gradient of a layer on a step; log-normal, so that both ends have tails. */
export function gradientValues(layer: number, step: number): number[] {
  const random = makeRandom(1000 * layer + step + 17);
  const centre = 2 ** (-16 - 2 * layer);
  const values: number[] = [];
  for (let i = 0; i < 3000; ++i) {
    const sign = random() < 0.5 ? -1 : 1;
    values.push(random() < 0.04 ? 0 : Math.fround(sign * centre * 2 ** (3.1 * normal(random))));
  }
  return values;
}

/** What a float16 backward pass would hold: scaled, then rounded. */
export function scaledValues(layer: number, step: number): number[] {
  return gradientValues(layer, step).map((v) => roundTo(v * kScale, 'float16'));
}

let tensorsMade: string | null = null; // making them takes longer than the tests

function tensors(): Json[] {
  tensorsMade = tensorsMade ?? JSON.stringify(makeTensors());
  return JSON.parse(tensorsMade);
}

function makeTensors(): Json[] {
  const out: Json[] = [];
  for (const step of kSampledSteps) {
    kLayers.forEach((name, layer) => {
      const exact = gradientValues(layer, step);
      const scaled = scaledValues(layer, step);
      const lost = exact.filter((v, i) => v !== 0 && scaled[i] === 0).length;
      out.push({ name, role: 'gradient', dtype: 'float16', step, process: 4711, scale: kScale, ...statisticsOf(scaled), rounding: { to_zero: lost, to_inf: 0 } });
      out.push({ name, role: 'unscaled_gradient', dtype: 'float32', step, process: 4711, scale: 1, ...statisticsOf(exact), rounding: null });
      const random = makeRandom(layer + 5);
      const weights = Array.from({ length: 800 }, () => Math.fround(0.06 * normal(random)));
      out.push({ name, role: 'weight', dtype: 'float32', step, process: 4711, scale: 1, ...statisticsOf(weights), rounding: null });
    });
    const random = makeRandom(step + 99);
    const hot = Array.from({ length: 2000 }, () => roundTo(Math.max(0, 700 * normal(random)), 'float16'));
    out.push({ name: 'conv2.output', role: 'activation', dtype: 'float16', step, process: 4711, scale: 1, ...statisticsOf(hot), rounding: { to_zero: 0, to_inf: 0 } });
  }
  return out;
}

function lossScale(): Json {
  const events: Json[] = [];
  let scale = 65536;
  let tracker = 0;
  for (let step = 0; step < 300; ++step) {
    const bad = step < 3 || step === 181;
    const before = scale;
    if (bad) scale /= 2;
    tracker = bad ? 0 : tracker + 1;
    if (tracker === 120) (scale *= 2), (tracker = 0);
    events.push({
      step, process: 4711, time_ns: step * 3.1e7 + 2.9e7, scale: before, scale_after: scale, found_inf: bad, skipped: bad, growth_tracker: tracker,
      first_nonfinite: bad ? 'fc2.weight' : null, nonfinite_params: bad ? 2 : 0, action: 'update',
    });
  }
  const run = (first: number, last: number, from: number, to: number) => ({ first_step: first, last_step: last, skipped: last - first + 1, first_nonfinite: 'fc2.weight', scale_before: from, scale_after: to, process: 4711 });
  return {
    events, runs: [run(0, 2, 65536, 8192), run(181, 181, 16384, 8192)], initial_scale: 65536, final_scale: scale, min_scale: null, growth_interval: 120,
    steps_attempted: 300, steps_applied: 296, skipped_steps: 4, growths: 1, backoffs: 4, verdict: 'calibration',
    verdict_text: 'The scale settled within the first steps; later overflows are single steps.',
  };
}

const kOps: [string, string, string, string, string, string[], string, number][] = [
  // name, phase, rule, reason, compute dtype, inputs, module, microseconds a call
  ['conv2d', 'forward', 'lower_precision', 'listed low precision', 'float16', ['float32', 'float32', 'float32'], 'conv1', 1900],
  ['conv2d', 'forward', 'lower_precision', 'listed low precision', 'float16', ['float16', 'float32', 'float32'], 'conv2', 3100],
  ['conv2d_backward', 'backward', 'none', 'gradient in the dtype forward recorded', 'float16', ['float16', 'float16', 'float16'], 'conv2', 6400],
  ['linear', 'forward', 'lower_precision', 'listed low precision', 'float16', ['float16', 'float32', 'float32'], 'fc1', 520],
  ['matmul', 'backward', 'none', 'gradient in the dtype forward recorded', 'float16', ['float16', 'float16'], 'fc1', 740],
  ['relu', 'forward', 'none', 'not listed', 'float16', ['float16'], 'conv1', 230],
  ['max_pool2d', 'forward', 'none', 'not listed', 'float16', ['float16'], 'conv1', 610],
  ['log_softmax', 'forward', 'fp32', 'listed fp32', 'float32', ['float16'], 'loss', 44],
  ['nll_loss', 'forward', 'fp32', 'listed fp32', 'float32', ['float32', 'int64'], 'loss', 9],
  ['mul', 'forward', 'promote', 'promoted to widest', 'float32', ['float32', 'float32'], '', 2],
  ['sgd_step', 'optimizer', 'none', 'autocast off', 'float32', ['float32', 'float32'], '', 160],
  ['add_', 'optimizer', 'none', 'in-place or out= excluded', 'float32', ['float32', 'float32'], '', 31],
];

function op(row: (typeof kOps)[number], calls: number, i: number): Json {
  const [name, phase, rule, reason, compute, inputs, module, us] = row;
  const cpu = us * 1000 * calls;
  return {
    name, phase, rule, reason, policy: 'cuda', device: 'cpu', input_dtypes: inputs, compute_dtype: compute, output_dtype: compute, composite: name === 'linear',
    calls, cpu_ns: cpu, total_ns: cpu * 1.2, cast_ns: inputs.some((d) => d !== compute && d !== 'int64') ? cpu * 0.08 : 0, gpu_ns: null,
    flops: i % 4 === 3 ? null : us * 48000 * calls, bytes: us * 900 * calls, modules: [{ path: module, calls, cpu_ns: cpu }], modules_left_out: 0,
    tensor_core: { eligible: null, used: null, known_by: null, pipe_utilization: null, note: null },
  };
}

const cast = (cause: string, from: string, to: string, phase: string, count: number, cached: number, ns: number, expansion = 1): Json => ({
  cause_op: cause, from, to, kind: cause === '' ? 'explicit' : 'autocast', phase, count, cached_count: cached, elements: count * 9000, bytes: count * 54000, cpu_ns: ns, gpu_ns: null, max_expansion: expansion,
});

function timeline(steps: number, opsInStep: number): Json {
  const slices: Json[] = [];
  let now = 0;
  for (let step = 0; step < steps; ++step) {
    const start = now;
    const inside: Json[] = [];
    for (let i = 0; i < opsInStep; ++i) {
      const row = kOps[i % kOps.length];
      const ns = row[7] * 1000;
      let at = now + 4000;
      if (row[5].includes('float32') && row[4] === 'float16') {
        inside.push({ track: 1, kind: 'cast', name: 'float32 to float16', start_ns: at, dur_ns: ns * 0.1, depth: 1, step, dtype: 'float16', from: 'float32', phase: row[1], reason: null, module: row[6] });
        at += ns * 0.1;
      }
      inside.push({ track: 1, kind: 'op', name: row[0], start_ns: at, dur_ns: ns, depth: 1, step, dtype: row[4], from: null, phase: row[1], reason: row[3], module: row[6] || null });
      if (row[0] === 'linear') inside.push({ track: 1, kind: 'op', name: 'addmm', start_ns: at + ns * 0.1, dur_ns: ns * 0.8, depth: 2, step, dtype: row[4], from: null, phase: row[1], reason: 'inside a listed op', module: row[6] });
      now = at + ns;
    }
    slices.push({ track: 1, kind: 'step', name: `step ${step}`, start_ns: start, dur_ns: now - start, depth: 0, step, dtype: null, from: null, phase: null, reason: null, module: null }, ...inside);
    now += 30000;
  }
  slices.push({ track: 2, kind: 'range', name: 'load batches', start_ns: 0, dur_ns: now * 0.4, depth: 0, step: null, dtype: null, from: null, phase: null, reason: null, module: null });
  return {
    start_ns: 0, end_ns: now,
    tracks: [{ id: 1, name: 'main thread', pid: 4711, tid: 4711 }, { id: 2, name: 'loader', pid: 4711, tid: 4712 }],
    slices,
    counters: [{ name: 'loss scale', unit: '', points: Array.from({ length: steps }, (_, i) => ({ time_ns: (now / steps) * (i + 1), value: 65536 / 2 ** Math.min(3, i + 1) })) }],
    slices_left_out: 41230,
  };
}

function memory(): Json {
  const mib = 2 ** 20;
  const cause = (bytes: number, fp32: number) => ({ bytes: bytes * mib, bytes_if_fp32: fp32 * mib, peak_bytes: bytes * mib * 1.1 });
  const points = Array.from({ length: 400 }, (_, i) => {
    const wave = Math.max(0, Math.sin((i / 400) * Math.PI * 16)) ** 0.7;
    return { time_ns: i * 2.3e7, bytes: Math.round((14 + 24.5 * wave) * mib), bytes_if_fp32: Math.round((12 + 45 * wave) * mib) };
  });
  return {
    peak_bytes: 38.5 * mib, peak_bytes_if_fp32: 57 * mib, saved_bytes: 18.5 * mib, peak_time_ns: 3.2e8, peak_step: 11, peak_if_fp32_time_ns: 3.25e8, peak_if_fp32_step: 11,
    by_cause: { activations: cause(22, 43), gradients: cause(4, 4), weights: cause(4, 4), cast_cache: cause(2.5, 0), optimizer_state: cause(4, 4), workspace: cause(2, 2), other: cause(0, 0) },
    allocations: 90321, frees: 90300, end_bytes: 14 * mib, timeline: points,
  };
}

/** A float16 run of 300 steps on the CPU. */
export function makeReport(): Json {
  const ops = kOps.map((row, i) => op(row, 300, i));
  const total = ops.reduce((n, o) => n + o.cpu_ns, 0);
  const of = (dtype: string) => ops.filter((o) => o.compute_dtype === dtype);
  const sum = (rows: Json[], key: string) => rows.reduce((n: number, o: Json) => n + (o[key] ?? 0), 0);
  const flops = sum(ops, 'flops');
  const totals = (dtype: string) => ({ calls: sum(of(dtype), 'calls'), cpu_ns: sum(of(dtype), 'cpu_ns'), flops: sum(of(dtype), 'flops'), time_share: sum(of(dtype), 'cpu_ns') / total, flops_share: sum(of(dtype), 'flops') / flops });
  const casts = [cast('conv2d', 'float32', 'float16', 'forward', 900, 600, 9.1e7), cast('linear', 'float32', 'float16', 'forward', 600, 300, 4.4e7), cast('log_softmax', 'float16', 'float32', 'forward', 300, 0, 5e6, 1024), cast('', 'float32', 'bfloat16', 'optimizer', 12, 0, 2e5)];
  const castNs = sum(casts, 'cpu_ns');
  return {
    schema: 'ampprof-report/1', generator: { name: 'ampprof', version: '0.1.0' },
    not_measured: { tensor_cores: 'the run used no GPU, and Tensor Cores are part of a GPU', 'ops[].gpu_ns': 'no GPU was used', 'ops[].tensor_core': 'no GPU was used', kernels: 'no GPU was used', 'ops[].flops': 'the op has no formula' },
    notes: [],
    target: { command: ['./train_fashion_mnist', '--model', 'cnn', '--precision', 'fp16', '--steps', '300'], exit_code: 0, signal: null, host: 'workstation', gpus: [], wall_ns: 9.43e9, facts: { library: 'libamp 0.1.0', BLAS: 'OpenBLAS', threads: '2' }, processes: [{ pid: 4711, parent_pid: 1, command: ['./train_fashion_mnist'], start_ns: 0, end_ns: 9.4e9, ended: 'exit', has_libamp: true }] },
    capture: { path: 'ampprof-out/capture.amptrace', sources: ['libamp'], dropped: {}, steps_total: 300, steps_recorded: Array.from({ length: 300 }, (_, i) => i), steps_sampled: kSampledSteps, unclosed_ranges: 0 },
    totals: { ops_ns: total, cast_ns: castNs, cast_share: castNs / (castNs + total), step_ns: total * 1.1, casts: sum(casts, 'count'), casts_cached: sum(casts, 'cached_count'), by_compute_dtype: { float16: totals('float16'), float32: totals('float32') } },
    ops, casts, kernels: [], tensor_cores: { kernel_time_share: null, pipe_utilization: null, by_dtype: {} },
    memory: memory(), tensors: tensors(), tensors_left_out: 0, loss_scale: lossScale(),
    steps: Array.from({ length: 300 }, (_, i) => ({ step: i, process: 4711, start_ns: i * 3.1e7, dur_ns: 3e7, sampled: kSampledSteps.includes(i), ops_ns: 2.6e7, cast_ns: 5e5 })), steps_left_out: 0,
    timeline: timeline(4, 24),
    findings: [
      { id: 'calibration', severity: 'info', title: 'The loss scale was calibrated in the first 3 steps', evidence: { skipped_steps: 3, scale_before: 65536, scale_after: 8192, parameters: ['fc2.weight', 'fc2.bias'] }, advice: 'Start with init_scale = 8192 to lose no step.' },
      { id: 'gradient_underflow', severity: 'warning', title: 'Gradients of fc2.weight flush to zero', evidence: { share: 0.081, step: 299, cast_ns: 4.4e7, bytes: 54000 }, advice: 'Keep the loss scale at 32768 or above.' },
    ],
  };
}

export const kHostileNames = {
  script: `</script><img src=x onerror="window.broken=1"><b>"'&`,
  emoji: '🙂 \u202egnirts desrever\u202c \u0000\u0007 end',
  broken: 'not utf-8: \ufffd\ufffd',
  proto: '__proto__',
};

/** The same run with names that try to become markup, reorder text, or hit object prototypes. */
export function hostileReport(): Json {
  const r = makeReport();
  const bad = kHostileNames;
  r.target.command = ['./train', bad.script];
  r.target.host = bad.emoji;
  r.target.facts = JSON.parse(`{"__proto__": "a fact", "${'constructor'}": "another"}`);
  r.notes = [`lost records of ${bad.script}`];
  r.not_measured = JSON.parse(JSON.stringify({ ...r.not_measured, tensor_cores: bad.script }));
  r.ops[0].name = bad.script;
  r.ops[0].modules = [{ path: bad.emoji, calls: 1, cpu_ns: 1 }];
  r.ops[1].name = bad.emoji;
  r.ops[1].compute_dtype = bad.script;
  r.ops[2].name = bad.broken;
  r.ops[3].reason = bad.script;
  r.ops[4].phase = bad.proto;
  r.ops[5].compute_dtype = 'constructor';
  r.casts[0].cause_op = bad.script;
  r.totals.by_compute_dtype = JSON.parse(JSON.stringify(r.totals.by_compute_dtype).replace('"float32"', JSON.stringify(bad.script)));
  r.tensors.filter((t: Json) => t.role === 'gradient').forEach((t: Json, i: number) => (t.name = [bad.script, bad.emoji, bad.broken, bad.proto][i % 4]));
  r.tensors[1].role = bad.script;
  r.loss_scale.events[0].first_nonfinite = bad.script;
  r.loss_scale.runs[0].first_nonfinite = bad.script;
  r.loss_scale.verdict_text = bad.script;
  r.memory.by_cause[bad.script] = { bytes: 1 << 20, bytes_if_fp32: 1 << 20, peak_bytes: 1 << 20 };
  r.timeline.slices.filter((s: Json) => s.kind === 'op').forEach((s: Json) => (s.name = bad.script));
  r.timeline.tracks[0].name = bad.emoji;
  r.findings.push({ id: bad.script, severity: bad.script, title: bad.script, evidence: { [bad.script]: bad.script, list: [bad.script, { deep: bad.script }] }, advice: bad.script });
  return r;
}

/** A run in which nothing was seen but its end: every key is there, every figure null. */
export function emptyReport(): Json {
  const none = 'the program never used libamp';
  const shares = { bytes: null, bytes_if_fp32: null, peak_bytes: null };
  return {
    schema: 'ampprof-report/1', generator: { name: 'ampprof', version: '0.1.0' },
    not_measured: { ops: none, totals: none, tensor_cores: none, memory: none, tensors: none, loss_scale: none, timeline: none, kernels: none, casts: none },
    notes: [],
    target: { command: ['/bin/true'], exit_code: 0, signal: null, host: null, gpus: [], wall_ns: null, facts: {}, processes: [] },
    capture: { path: 'x', sources: [], dropped: {}, steps_total: null, steps_recorded: [], steps_sampled: [], unclosed_ranges: 0 },
    totals: { ops_ns: null, cast_ns: null, cast_share: null, step_ns: null, casts: null, casts_cached: null, by_compute_dtype: {} },
    ops: [], casts: [], kernels: [], tensor_cores: { kernel_time_share: null, pipe_utilization: null, by_dtype: {} },
    memory: { peak_bytes: null, peak_bytes_if_fp32: null, saved_bytes: null, peak_time_ns: null, peak_step: null, peak_if_fp32_time_ns: null, peak_if_fp32_step: null, by_cause: { activations: shares }, allocations: null, frees: null, end_bytes: null, timeline: [] },
    tensors: [], tensors_left_out: 0,
    loss_scale: { events: [], runs: [], initial_scale: null, final_scale: null, min_scale: null, growth_interval: null, steps_attempted: null, steps_applied: null, skipped_steps: null, growths: null, backoffs: null, verdict: null, verdict_text: null },
    steps: [], steps_left_out: 0, timeline: { start_ns: 0, end_ns: 0, tracks: [], slices: [], counters: [], slices_left_out: 0 }, findings: [],
  };
}

/** 91 halvings in a row inside 20 000 steps, on a run where mixed precision costs memory. */
export function collapseReport(): Json {
  const r = makeReport();
  const events: Json[] = [];
  let scale = 131072;
  for (let step = 0; step < 20000; ++step) {
    const bad = step >= 12000 && step < 12091;
    events.push({ step, process: 4711, time_ns: step, scale, scale_after: bad ? scale / 2 : scale, found_inf: bad, skipped: bad, growth_tracker: null, first_nonfinite: bad ? 'block.7.attn.weight' : null, nonfinite_params: null, action: 'update' });
    if (bad) scale /= 2;
  }
  Object.assign(r.loss_scale, {
    events, runs: [{ first_step: 12000, last_step: 12090, skipped: 91, first_nonfinite: 'block.7.attn.weight', scale_before: 131072, scale_after: 2 ** -74, process: 4711 }],
    final_scale: scale, skipped_steps: 91, steps_attempted: 20000, steps_applied: 19909, verdict: 'collapse', verdict_text: 'The scale fell through 91 consecutive skipped steps.',
  });
  const mib = 2 ** 20;
  Object.assign(r.memory, { peak_bytes: 100 * mib, peak_bytes_if_fp32: 68 * mib, saved_bytes: -32 * mib });
  r.memory.by_cause.cast_cache = { bytes: 34 * mib, bytes_if_fp32: 0, peak_bytes: 34 * mib };
  return r;
}

/** 5 000 op rows, 20 000 slices, 4 000 tensors. */
export function bigReport(): Json {
  const r = makeReport();
  r.ops = Array.from({ length: 5000 }, (_, i) => {
    const row = op(kOps[i % kOps.length], 1 + (i % 97), i);
    row.name = `${row.name}_${i}`;
    row.cpu_ns = ((i * 7919) % 5000) * 1000 + 1;
    return row;
  });
  r.timeline = timeline(700, 24);
  r.timeline.slices = r.timeline.slices.slice(0, 20000);
  const [first] = r.tensors;
  r.tensors = Array.from({ length: 4000 }, (_, i) => ({ ...first, name: `layer.${i}.weight`, step: i % 5 }));
  return r;
}

export const kKinds: Record<string, () => Json> = { sample: makeReport, hostile: hostileReport, empty: emptyReport, collapse: collapseReport, big: bigReport };

/** The page with a report in it, escaped as the report writer does. */
export function embed(template: string, report: Json): string {
  const json = JSON.stringify(report).replace(/</g, '\\u003c').replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029');
  return template.replace('/*REPORT_JSON*/null', () => json);
}

if (/make_sample\.m?[jt]s$/.test(process.argv[1] ?? '')) {
  const [kind, file] = process.argv.slice(2);
  const make = kKinds[kind];
  if (!make || !file) throw new Error(`usage: make_sample KIND FILE, KIND one of ${Object.keys(kKinds).join(' ')}`);
  writeFileSync(file, JSON.stringify(make()));
}
