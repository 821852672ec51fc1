// The parts from which make_sample.ts builds its reports: values from a fixed seed, ops, memory, a loss-scale history.

import { roundTo, statisticsOf } from './rounding.ts';

export type Json = any; // the point of these reports is to be of any shape

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

export const kLayers = [
  'conv1.weight',
  'conv1.bias',
  'conv2.weight',
  'conv2.bias',
  'fc1.weight',
  'fc1.bias',
  'fc2.weight',
  'fc2.bias',
];
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

export function tensors(): Json[] {
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
      out.push({
        name,
        role: 'gradient',
        dtype: 'float16',
        step,
        process: 4711,
        scale: kScale,
        ...statisticsOf(scaled),
        rounding: { to_zero: lost, to_inf: 0 },
      });
      out.push({
        name,
        role: 'unscaled_gradient',
        dtype: 'float32',
        step,
        process: 4711,
        scale: 1,
        ...statisticsOf(exact),
        rounding: null,
      });
      const random = makeRandom(layer + 5);
      const weights = Array.from({ length: 800 }, () => Math.fround(0.06 * normal(random)));
      out.push({
        name,
        role: 'weight',
        dtype: 'float32',
        step,
        process: 4711,
        scale: 1,
        ...statisticsOf(weights),
        rounding: null,
      });
    });
    const random = makeRandom(step + 99);
    const hot = Array.from({ length: 2000 }, () => roundTo(Math.max(0, 700 * normal(random)), 'float16'));
    out.push({
      name: 'conv2.output',
      role: 'activation',
      dtype: 'float16',
      step,
      process: 4711,
      scale: 1,
      ...statisticsOf(hot),
      rounding: { to_zero: 0, to_inf: 0 },
    });
  }
  return out;
}

export function lossScale(): Json {
  const events: Json[] = [];
  let scale = 65536;
  let tracker = 0;
  for (let step = 0; step < 300; ++step) {
    const bad = step < 3 || step === 181;
    const before = scale;
    if (bad) scale /= 2;
    tracker = bad ? 0 : tracker + 1;
    if (tracker === 120) ((scale *= 2), (tracker = 0));
    events.push({
      step,
      process: 4711,
      time_ns: step * 3.1e7 + 2.9e7,
      scale: before,
      scale_after: scale,
      found_inf: bad,
      skipped: bad,
      growth_tracker: tracker,
      first_nonfinite: bad ? 'fc2.weight' : null,
      nonfinite_params: bad ? 2 : 0,
      action: 'update',
    });
  }
  const run = (first: number, last: number, from: number, to: number) => ({
    first_step: first,
    last_step: last,
    skipped: last - first + 1,
    first_nonfinite: 'fc2.weight',
    scale_before: from,
    scale_after: to,
    process: 4711,
  });
  return {
    events,
    runs: [run(0, 2, 65536, 8192), run(181, 181, 16384, 8192)],
    initial_scale: 65536,
    final_scale: scale,
    min_scale: null,
    growth_interval: 120,
    steps_attempted: 300,
    steps_applied: 296,
    skipped_steps: 4,
    growths: 1,
    backoffs: 4,
    verdict: 'calibration',
    verdict_text: 'The scale settled within the first steps; later overflows are single steps.',
  };
}

export const kOps: [string, string, string, string, string, string[], string, number][] = [
  // name, phase, rule, reason, compute dtype, inputs, module, microseconds a call
  [
    'conv2d',
    'forward',
    'lower_precision',
    'listed low precision',
    'float16',
    ['float32', 'float32', 'float32'],
    'conv1',
    1900,
  ],
  [
    'conv2d',
    'forward',
    'lower_precision',
    'listed low precision',
    'float16',
    ['float16', 'float32', 'float32'],
    'conv2',
    3100,
  ],
  [
    'conv2d_backward',
    'backward',
    'none',
    'gradient in the dtype forward recorded',
    'float16',
    ['float16', 'float16', 'float16'],
    'conv2',
    6400,
  ],
  [
    'linear',
    'forward',
    'lower_precision',
    'listed low precision',
    'float16',
    ['float16', 'float32', 'float32'],
    'fc1',
    520,
  ],
  [
    'matmul',
    'backward',
    'none',
    'gradient in the dtype forward recorded',
    'float16',
    ['float16', 'float16'],
    'fc1',
    740,
  ],
  ['relu', 'forward', 'none', 'not listed', 'float16', ['float16'], 'conv1', 230],
  ['max_pool2d', 'forward', 'none', 'not listed', 'float16', ['float16'], 'conv1', 610],
  ['log_softmax', 'forward', 'fp32', 'listed fp32', 'float32', ['float16'], 'loss', 44],
  ['nll_loss', 'forward', 'fp32', 'listed fp32', 'float32', ['float32', 'int64'], 'loss', 9],
  ['mul', 'forward', 'promote', 'promoted to widest', 'float32', ['float32', 'float32'], '', 2],
  ['sgd_step', 'optimizer', 'none', 'autocast off', 'float32', ['float32', 'float32'], '', 160],
  ['add_', 'optimizer', 'none', 'in-place or out= excluded', 'float32', ['float32', 'float32'], '', 31],
];

export function op(row: (typeof kOps)[number], calls: number, i: number): Json {
  const [name, phase, rule, reason, compute, inputs, module, us] = row;
  const cpu = us * 1000 * calls;
  return {
    name,
    phase,
    rule,
    reason,
    policy: 'cuda',
    device: 'cpu',
    input_dtypes: inputs,
    compute_dtype: compute,
    output_dtype: compute,
    composite: name === 'linear',
    calls,
    cpu_ns: cpu,
    total_ns: cpu * 1.2,
    cast_ns: inputs.some((d) => d !== compute && d !== 'int64') ? cpu * 0.08 : 0,
    gpu_ns: null,
    flops: i % 4 === 3 ? null : us * 48000 * calls,
    bytes: us * 900 * calls,
    modules: [{ path: module, calls, cpu_ns: cpu }],
    modules_left_out: 0,
    tensor_core: { eligible: null, used: null, known_by: null, pipe_utilization: null, note: null },
  };
}

export const cast = (
  cause: string,
  from: string,
  to: string,
  phase: string,
  count: number,
  cached: number,
  ns: number,
  expansion = 1,
): Json => ({
  cause_op: cause,
  from,
  to,
  kind: cause === '' ? 'explicit' : 'autocast',
  phase,
  count,
  cached_count: cached,
  elements: count * 9000,
  bytes: count * 54000,
  cpu_ns: ns,
  gpu_ns: null,
  max_expansion: expansion,
});

export function timeline(steps: number, opsInStep: number): Json {
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
        inside.push({
          track: 1,
          kind: 'cast',
          name: 'float32 to float16',
          start_ns: at,
          dur_ns: ns * 0.1,
          depth: 1,
          step,
          dtype: 'float16',
          from: 'float32',
          phase: row[1],
          reason: null,
          module: row[6],
        });
        at += ns * 0.1;
      }
      inside.push({
        track: 1,
        kind: 'op',
        name: row[0],
        start_ns: at,
        dur_ns: ns,
        depth: 1,
        step,
        dtype: row[4],
        from: null,
        phase: row[1],
        reason: row[3],
        module: row[6] || null,
      });
      if (row[0] === 'linear')
        inside.push({
          track: 1,
          kind: 'op',
          name: 'addmm',
          start_ns: at + ns * 0.1,
          dur_ns: ns * 0.8,
          depth: 2,
          step,
          dtype: row[4],
          from: null,
          phase: row[1],
          reason: 'inside a listed op',
          module: row[6],
        });
      now = at + ns;
    }
    slices.push(
      {
        track: 1,
        kind: 'step',
        name: `step ${step}`,
        start_ns: start,
        dur_ns: now - start,
        depth: 0,
        step,
        dtype: null,
        from: null,
        phase: null,
        reason: null,
        module: null,
      },
      ...inside,
    );
    now += 30000;
  }
  slices.push({
    track: 2,
    kind: 'range',
    name: 'load batches',
    start_ns: 0,
    dur_ns: now * 0.4,
    depth: 0,
    step: null,
    dtype: null,
    from: null,
    phase: null,
    reason: null,
    module: null,
  });
  return {
    start_ns: 0,
    end_ns: now,
    tracks: [
      { id: 1, name: 'main thread', pid: 4711, tid: 4711 },
      { id: 2, name: 'loader', pid: 4711, tid: 4712 },
    ],
    slices,
    counters: [
      {
        name: 'loss scale',
        unit: '',
        points: Array.from({ length: steps }, (_, i) => ({
          time_ns: (now / steps) * (i + 1),
          value: 65536 / 2 ** Math.min(3, i + 1),
        })),
      },
    ],
    slices_left_out: 41230,
  };
}

export function memory(): Json {
  const mib = 2 ** 20;
  const cause = (bytes: number, fp32: number) => ({
    bytes: bytes * mib,
    bytes_if_fp32: fp32 * mib,
    step_bytes: bytes * mib,
    step_bytes_if_fp32: fp32 * mib,
    peak_bytes: bytes * mib * 1.1,
  });
  const points = Array.from({ length: 400 }, (_, i) => {
    const wave = Math.max(0, Math.sin((i / 400) * Math.PI * 16)) ** 0.7;
    return {
      time_ns: i * 2.3e7,
      bytes: Math.round((14 + 24.5 * wave) * mib),
      bytes_if_fp32: Math.round((12 + 45 * wave) * mib),
    };
  });
  return {
    peak_bytes: 38.5 * mib,
    peak_bytes_if_fp32: 57 * mib,
    saved_bytes: 18.5 * mib,
    peak_time_ns: 3.2e8,
    peak_step: 11,
    peak_if_fp32_time_ns: 3.25e8,
    peak_if_fp32_step: 11,
    in_steps: {
      peak_bytes: 38.5 * mib,
      peak_bytes_if_fp32: 57 * mib,
      saved_bytes: 18.5 * mib,
      peak_step: 11,
      peak_if_fp32_step: 11,
    },
    by_cause: {
      activations: cause(22, 43),
      gradients: cause(4, 4),
      weights: cause(4, 4),
      cast_cache: cause(2.5, 0),
      optimizer_state: cause(4, 4),
      workspace: cause(2, 2),
      other: cause(0, 0),
    },
    allocations: 90321,
    frees: 90300,
    end_bytes: 14 * mib,
    timeline: points,
  };
}
