// Reports for the tests: one that looks like a float16 training run with a GradScaler, and from it a hostile one, an
// empty one, a large one. Everything comes from a fixed seed. As a program it writes one of them:
// node make_sample.mjs KIND FILE

import { writeFileSync } from 'node:fs';
export { gradientValues, kLayers, kScale, makeRandom, normal, scaledValues } from './sample_parts.ts';
import { cast, kOps, kSampledSteps, lossScale, memory, op, tensors, timeline, type Json } from './sample_parts.ts';

/** A float16 run of 300 steps on the CPU. */
export function makeReport(): Json {
  const ops = kOps.map((row, i) => op(row, 300, i));
  const total = ops.reduce((n, o) => n + o.cpu_ns, 0);
  const of = (dtype: string) => ops.filter((o) => o.compute_dtype === dtype);
  const sum = (rows: Json[], key: string) => rows.reduce((n: number, o: Json) => n + (o[key] ?? 0), 0);
  const flops = sum(ops, 'flops');
  const totals = (dtype: string) => ({
    calls: sum(of(dtype), 'calls'),
    cpu_ns: sum(of(dtype), 'cpu_ns'),
    flops: sum(of(dtype), 'flops'),
    time_share: sum(of(dtype), 'cpu_ns') / total,
    flops_share: sum(of(dtype), 'flops') / flops,
  });
  const casts = [
    cast('conv2d', 'float32', 'float16', 'forward', 900, 600, 9.1e7),
    cast('linear', 'float32', 'float16', 'forward', 600, 300, 4.4e7),
    cast('log_softmax', 'float16', 'float32', 'forward', 300, 0, 5e6, 1024),
    cast('', 'float32', 'bfloat16', 'optimizer', 12, 0, 2e5),
  ];
  const castNs = sum(casts, 'cpu_ns');
  return {
    schema: 'ampprof-report/1',
    generator: { name: 'ampprof', version: '0.1.0' },
    not_measured: {
      tensor_cores: 'the run used no GPU, and Tensor Cores are part of a GPU',
      'ops[].gpu_ns': 'no GPU was used',
      'ops[].tensor_core': 'no GPU was used',
      kernels: 'no GPU was used',
      'ops[].flops': 'the op has no formula',
    },
    notes: [],
    target: {
      command: ['./train_fashion_mnist', '--model', 'cnn', '--precision', 'fp16', '--steps', '300'],
      exit_code: 0,
      signal: null,
      host: 'workstation',
      gpus: [],
      wall_ns: 9.43e9,
      facts: { library: 'libamp 0.1.0', BLAS: 'OpenBLAS', threads: '2' },
      processes: [
        {
          pid: 4711,
          parent_pid: 1,
          command: ['./train_fashion_mnist'],
          start_ns: 0,
          end_ns: 9.4e9,
          ended: 'exit',
          has_libamp: true,
        },
      ],
    },
    capture: {
      path: 'ampprof-out/capture.amptrace',
      sources: ['libamp'],
      dropped: {},
      steps_total: 300,
      steps_recorded: Array.from({ length: 300 }, (_, i) => i),
      steps_sampled: kSampledSteps,
      unclosed_ranges: 0,
    },
    totals: {
      ops_ns: total,
      cast_ns: castNs,
      cast_share: castNs / (castNs + total),
      step_ns: total * 1.1,
      casts: sum(casts, 'count'),
      casts_cached: sum(casts, 'cached_count'),
      by_compute_dtype: { float16: totals('float16'), float32: totals('float32') },
    },
    ops,
    casts,
    kernels: [],
    tensor_cores: { kernel_time_share: null, pipe_utilization: null, by_dtype: {} },
    memory: memory(),
    tensors: tensors(),
    tensors_left_out: 0,
    loss_scale: lossScale(),
    steps: Array.from({ length: 300 }, (_, i) => ({
      step: i,
      process: 4711,
      start_ns: i * 3.1e7,
      dur_ns: 3e7,
      sampled: kSampledSteps.includes(i),
      ops_ns: 2.6e7,
      cast_ns: 5e5,
    })),
    steps_left_out: 0,
    timeline: timeline(4, 24),
    findings: [
      {
        id: 'calibration',
        severity: 'info',
        title: 'The loss scale was calibrated in the first 3 steps',
        evidence: { skipped_steps: 3, scale_before: 65536, scale_after: 8192, parameters: ['fc2.weight', 'fc2.bias'] },
        advice: 'Start with init_scale = 8192 to lose no step.',
      },
      {
        id: 'gradient_underflow',
        severity: 'warning',
        title: 'Gradients of fc2.weight flush to zero',
        evidence: { share: 0.081, step: 299, cast_ns: 4.4e7, bytes: 54000 },
        advice: 'Keep the loss scale at 32768 or above.',
      },
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
  r.totals.by_compute_dtype = JSON.parse(
    JSON.stringify(r.totals.by_compute_dtype).replace('"float32"', JSON.stringify(bad.script)),
  );
  r.tensors
    .filter((t: Json) => t.role === 'gradient')
    .forEach((t: Json, i: number) => (t.name = [bad.script, bad.emoji, bad.broken, bad.proto][i % 4]));
  r.tensors[1].role = bad.script;
  r.loss_scale.events[0].first_nonfinite = bad.script;
  r.loss_scale.runs[0].first_nonfinite = bad.script;
  r.loss_scale.verdict_text = bad.script;
  r.memory.by_cause[bad.script] = {
    bytes: 1 << 20,
    bytes_if_fp32: 1 << 20,
    step_bytes: 1 << 20,
    step_bytes_if_fp32: 1 << 20,
    peak_bytes: 1 << 20,
  };
  r.timeline.slices.filter((s: Json) => s.kind === 'op').forEach((s: Json) => (s.name = bad.script));
  r.timeline.tracks[0].name = bad.emoji;
  r.findings.push({
    id: bad.script,
    severity: bad.script,
    title: bad.script,
    evidence: { [bad.script]: bad.script, list: [bad.script, { deep: bad.script }] },
    advice: bad.script,
  });
  return r;
}

/** A run in which nothing was seen but its end: every key is there, every figure null. */
export function emptyReport(): Json {
  const none = 'the program never used libamp';
  const shares = { bytes: null, bytes_if_fp32: null, step_bytes: null, step_bytes_if_fp32: null, peak_bytes: null };
  return {
    schema: 'ampprof-report/1',
    generator: { name: 'ampprof', version: '0.1.0' },
    not_measured: {
      ops: none,
      totals: none,
      tensor_cores: none,
      memory: none,
      tensors: none,
      loss_scale: none,
      timeline: none,
      kernels: none,
      casts: none,
    },
    notes: [],
    target: {
      command: ['/bin/true'],
      exit_code: 0,
      signal: null,
      host: null,
      gpus: [],
      wall_ns: null,
      facts: {},
      processes: [],
    },
    capture: {
      path: 'x',
      sources: [],
      dropped: {},
      steps_total: null,
      steps_recorded: [],
      steps_sampled: [],
      unclosed_ranges: 0,
    },
    totals: {
      ops_ns: null,
      cast_ns: null,
      cast_share: null,
      step_ns: null,
      casts: null,
      casts_cached: null,
      by_compute_dtype: {},
    },
    ops: [],
    casts: [],
    kernels: [],
    tensor_cores: { kernel_time_share: null, pipe_utilization: null, by_dtype: {} },
    memory: {
      peak_bytes: null,
      peak_bytes_if_fp32: null,
      saved_bytes: null,
      peak_time_ns: null,
      peak_step: null,
      peak_if_fp32_time_ns: null,
      peak_if_fp32_step: null,
      in_steps: {
        peak_bytes: null,
        peak_bytes_if_fp32: null,
        saved_bytes: null,
        peak_step: null,
        peak_if_fp32_step: null,
      },
      by_cause: { activations: shares },
      allocations: null,
      frees: null,
      end_bytes: null,
      timeline: [],
    },
    tensors: [],
    tensors_left_out: 0,
    loss_scale: {
      events: [],
      runs: [],
      initial_scale: null,
      final_scale: null,
      min_scale: null,
      growth_interval: null,
      steps_attempted: null,
      steps_applied: null,
      skipped_steps: null,
      growths: null,
      backoffs: null,
      verdict: null,
      verdict_text: null,
    },
    steps: [],
    steps_left_out: 0,
    timeline: { start_ns: 0, end_ns: 0, tracks: [], slices: [], counters: [], slices_left_out: 0 },
    findings: [],
  };
}

/** 91 halvings in a row inside 20 000 steps, on a run where mixed precision costs memory. */
export function collapseReport(): Json {
  const r = makeReport();
  const events: Json[] = [];
  let scale = 131072;
  for (let step = 0; step < 20000; ++step) {
    const bad = step >= 12000 && step < 12091;
    events.push({
      step,
      process: 4711,
      time_ns: step,
      scale,
      scale_after: bad ? scale / 2 : scale,
      found_inf: bad,
      skipped: bad,
      growth_tracker: null,
      first_nonfinite: bad ? 'block.7.attn.weight' : null,
      nonfinite_params: null,
      action: 'update',
    });
    if (bad) scale /= 2;
  }
  Object.assign(r.loss_scale, {
    events,
    runs: [
      {
        first_step: 12000,
        last_step: 12090,
        skipped: 91,
        first_nonfinite: 'block.7.attn.weight',
        scale_before: 131072,
        scale_after: 2 ** -74,
        process: 4711,
      },
    ],
    final_scale: scale,
    skipped_steps: 91,
    steps_attempted: 20000,
    steps_applied: 19909,
    verdict: 'collapse',
    verdict_text: 'The scale fell through 91 consecutive skipped steps.',
  });
  const mib = 2 ** 20;
  const peaks = { peak_bytes: 100 * mib, peak_bytes_if_fp32: 68 * mib, saved_bytes: -32 * mib };
  Object.assign(r.memory, peaks);
  Object.assign(r.memory.in_steps, peaks);
  r.memory.by_cause.cast_cache = {
    bytes: 34 * mib,
    bytes_if_fp32: 0,
    step_bytes: 34 * mib,
    step_bytes_if_fp32: 0,
    peak_bytes: 34 * mib,
  };
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

export const kKinds: Record<string, () => Json> = {
  sample: makeReport,
  hostile: hostileReport,
  empty: emptyReport,
  collapse: collapseReport,
  big: bigReport,
};

/** The page with a report in it, escaped as the report writer does. */
export function embed(template: string, report: Json): string {
  const json = JSON.stringify(report)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
  return template.replace('/*REPORT_JSON*/null', () => json);
}

if (/make_sample\.m?[jt]s$/.test(process.argv[1] ?? '')) {
  const [kind, file] = process.argv.slice(2);
  const make = kKinds[kind];
  if (!make || !file) throw new Error(`usage: make_sample KIND FILE, KIND one of ${Object.keys(kKinds).join(' ')}`);
  writeFileSync(file, JSON.stringify(make()));
}
