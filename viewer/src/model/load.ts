// Text -> Report. The one place that meets JSON of unknown shape: a key that is missing or of another type becomes the
// empty value or null (shown as "not measured"), so that views never test types and a damaged report still opens.
// A text that is not a report of a version we know is refused with a sentence that names what is wrong.

import type * as R from './report.ts';

export class ReportError extends Error {}

type Json = Record<string, unknown>;

const obj = (v: unknown): Json => (typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Json) : {});
const arr = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
const num = (v: unknown): number | null => (typeof v === 'number' && Number.isFinite(v) ? v : null);
const count = (v: unknown): number => num(v) ?? 0;
const bool = (v: unknown): boolean => v === true;
const maybeBool = (v: unknown): boolean | null => (typeof v === 'boolean' ? v : null);
const text = (v: unknown): string => (typeof v === 'string' ? v : v === null || v === undefined ? '' : String(v));
const maybeText = (v: unknown): string | null => (typeof v === 'string' ? v : null);
const texts = (v: unknown): string[] => arr(v).map(text);
const nums = (v: unknown): number[] => arr(v).map(count);

function mapOf<T>(v: unknown, read: (value: unknown) => T): Record<string, T> {
  // A null prototype: keys come from outside, and one may be called "__proto__".
  const out: Record<string, T> = Object.create(null);
  for (const [key, value] of Object.entries(obj(v))) out[key] = read(value);
  return out;
}

function target(v: unknown): R.Target {
  const o = obj(v);
  return {
    command: texts(o.command),
    exit_code: num(o.exit_code),
    signal: num(o.signal) ?? maybeText(o.signal),
    host: maybeText(o.host),
    gpus: texts(o.gpus),
    wall_ns: num(o.wall_ns),
    facts: mapOf(o.facts, text),
    processes: arr(o.processes)
      .map(obj)
      .map((p) => ({
        pid: count(p.pid),
        command: texts(p.command),
        has_libamp: bool(p.has_libamp),
        ended: text(p.ended),
      })),
  };
}

function capture(v: unknown): R.Capture {
  const o = obj(v);
  return {
    sources: texts(o.sources),
    dropped: mapOf(o.dropped, count),
    steps_total: num(o.steps_total),
    steps_recorded: nums(o.steps_recorded),
    steps_sampled: nums(o.steps_sampled),
    unclosed_ranges: num(o.unclosed_ranges),
  };
}

function totals(v: unknown): R.Totals {
  const o = obj(v);
  return {
    ops_ns: num(o.ops_ns),
    cast_ns: num(o.cast_ns),
    cast_share: num(o.cast_share),
    step_ns: num(o.step_ns),
    casts: num(o.casts),
    casts_cached: num(o.casts_cached),
    by_compute_dtype: mapOf(o.by_compute_dtype, (value) => {
      const d = obj(value);
      return {
        calls: count(d.calls),
        cpu_ns: num(d.cpu_ns),
        flops: num(d.flops),
        time_share: num(d.time_share),
        flops_share: num(d.flops_share),
      };
    }),
  };
}

function op(v: unknown): R.Op {
  const o = obj(v);
  const core = obj(o.tensor_core);
  return {
    name: text(o.name),
    phase: text(o.phase),
    rule: text(o.rule),
    reason: text(o.reason),
    policy: text(o.policy),
    device: text(o.device),
    input_dtypes: texts(o.input_dtypes),
    compute_dtype: text(o.compute_dtype),
    output_dtype: maybeText(o.output_dtype),
    composite: bool(o.composite),
    calls: count(o.calls),
    cpu_ns: num(o.cpu_ns),
    total_ns: num(o.total_ns),
    cast_ns: num(o.cast_ns),
    gpu_ns: num(o.gpu_ns),
    flops: num(o.flops),
    bytes: num(o.bytes),
    modules: arr(o.modules)
      .map(obj)
      .map((m) => ({ path: text(m.path), calls: count(m.calls), cpu_ns: num(m.cpu_ns) })),
    modules_left_out: count(o.modules_left_out),
    tensor_core: {
      eligible: maybeBool(core.eligible),
      used: maybeBool(core.used),
      known_by: maybeText(core.known_by),
      pipe_utilization: num(core.pipe_utilization),
      note: maybeText(core.note),
    },
  };
}

function cast(v: unknown): R.Cast {
  const o = obj(v);
  return {
    cause_op: text(o.cause_op),
    from: text(o.from),
    to: text(o.to),
    kind: text(o.kind),
    phase: text(o.phase),
    count: count(o.count),
    cached_count: count(o.cached_count),
    elements: num(o.elements),
    bytes: num(o.bytes),
    cpu_ns: num(o.cpu_ns),
    gpu_ns: num(o.gpu_ns),
    max_expansion: num(o.max_expansion),
  };
}

function kernel(v: unknown): R.Kernel {
  const o = obj(v);
  return {
    name: text(o.name),
    count: count(o.count),
    gpu_ns: num(o.gpu_ns),
    op: maybeText(o.op),
    tensor_core: maybeBool(o.tensor_core),
    known_by: maybeText(o.known_by),
    math_dtype: maybeText(o.math_dtype),
    pipe_utilization: num(o.pipe_utilization),
  };
}

function memory(v: unknown): R.Memory {
  const o = obj(v);
  const steps = obj(o.in_steps);
  return {
    peak_bytes: num(o.peak_bytes),
    peak_bytes_if_fp32: num(o.peak_bytes_if_fp32),
    saved_bytes: num(o.saved_bytes),
    peak_time_ns: num(o.peak_time_ns),
    peak_step: num(o.peak_step),
    peak_if_fp32_time_ns: num(o.peak_if_fp32_time_ns),
    peak_if_fp32_step: num(o.peak_if_fp32_step),
    in_steps: {
      peak_bytes: num(steps.peak_bytes),
      peak_bytes_if_fp32: num(steps.peak_bytes_if_fp32),
      saved_bytes: num(steps.saved_bytes),
      peak_step: num(steps.peak_step),
      peak_if_fp32_step: num(steps.peak_if_fp32_step),
    },
    by_cause: mapOf(o.by_cause, (value) => {
      const c = obj(value);
      return {
        bytes: num(c.bytes),
        bytes_if_fp32: num(c.bytes_if_fp32),
        step_bytes: num(c.step_bytes),
        step_bytes_if_fp32: num(c.step_bytes_if_fp32),
        peak_bytes: num(c.peak_bytes),
      };
    }),
    allocations: num(o.allocations),
    frees: num(o.frees),
    end_bytes: num(o.end_bytes),
    timeline: arr(o.timeline)
      .map(obj)
      .map((p) => ({
        time_ns: count(p.time_ns),
        bytes: count(p.bytes),
        bytes_if_fp32: num(p.bytes_if_fp32),
      })),
  };
}

function shares(v: unknown): R.Shares {
  const o = obj(v);
  return {
    float16: num(o.float16),
    bfloat16: num(o.bfloat16),
    float8_e4m3fn: num(o.float8_e4m3fn),
    float8_e5m2: num(o.float8_e5m2),
  };
}

function tensor(v: unknown): R.TensorStat {
  const o = obj(v);
  const exponent = obj(o.exponent);
  const rounding = o.rounding === null || o.rounding === undefined ? null : obj(o.rounding);
  return {
    name: text(o.name),
    role: text(o.role),
    dtype: text(o.dtype),
    step: num(o.step),
    process: num(o.process),
    count: count(o.count),
    zero: count(o.zero),
    nan: count(o.nan),
    pos_inf: count(o.pos_inf),
    neg_inf: count(o.neg_inf),
    min_abs_nonzero: num(o.min_abs_nonzero),
    max_abs: num(o.max_abs),
    scale: num(o.scale),
    exponent: { first: count(exponent.first), counts: nums(exponent.counts) },
    underflow: shares(o.underflow),
    overflow: shares(o.overflow),
    rounding: rounding && { to_zero: count(rounding.to_zero), to_inf: count(rounding.to_inf) },
  };
}

function scaleEvent(v: unknown): R.ScaleEvent {
  const o = obj(v);
  const foundInf = bool(o.found_inf) || o.found_inf === 1;
  return {
    step: count(o.step),
    process: num(o.process),
    time_ns: num(o.time_ns),
    scale: num(o.scale),
    scale_after: num(o.scale_after),
    found_inf: foundInf,
    skipped: maybeBool(o.skipped) ?? foundInf,
    growth_tracker: num(o.growth_tracker),
    first_nonfinite: maybeText(o.first_nonfinite),
    nonfinite_params: num(o.nonfinite_params),
    action: text(o.action),
  };
}

function lossScale(v: unknown): R.LossScale {
  const o = obj(v);
  return {
    events: arr(o.events).map(scaleEvent),
    runs: arr(o.runs)
      .map(obj)
      .map((r) => ({
        first_step: count(r.first_step),
        last_step: count(r.last_step),
        skipped: count(r.skipped),
        first_nonfinite: maybeText(r.first_nonfinite),
        scale_before: num(r.scale_before),
        scale_after: num(r.scale_after),
        process: num(r.process),
      })),
    initial_scale: num(o.initial_scale),
    final_scale: num(o.final_scale),
    min_scale: num(o.min_scale),
    growth_interval: num(o.growth_interval),
    steps_attempted: num(o.steps_attempted),
    steps_applied: num(o.steps_applied),
    skipped_steps: num(o.skipped_steps),
    growths: num(o.growths),
    backoffs: num(o.backoffs),
    verdict: maybeText(o.verdict),
    verdict_text: maybeText(o.verdict_text),
  };
}

function slice(v: unknown): R.Slice {
  const o = obj(v);
  return {
    track: count(o.track),
    kind: text(o.kind),
    name: text(o.name),
    start_ns: count(o.start_ns),
    dur_ns: Math.max(0, count(o.dur_ns)),
    depth: Math.max(0, Math.floor(count(o.depth))),
    step: num(o.step),
    dtype: maybeText(o.dtype),
    from: maybeText(o.from),
    phase: maybeText(o.phase),
    reason: maybeText(o.reason),
    module: maybeText(o.module),
  };
}

function timeline(v: unknown): R.Timeline {
  const o = obj(v);
  return {
    start_ns: count(o.start_ns),
    end_ns: count(o.end_ns),
    tracks: arr(o.tracks)
      .map(obj)
      .map((t) => ({
        id: count(t.id),
        name: text(t.name),
        pid: num(t.pid),
        tid: num(t.tid),
      })),
    slices: arr(o.slices).map(slice),
    counters: arr(o.counters)
      .map(obj)
      .map((c) => ({
        name: text(c.name),
        unit: text(c.unit),
        points: arr(c.points)
          .map(obj)
          .map((p) => ({ time_ns: count(p.time_ns), value: count(p.value) })),
      })),
    slices_left_out: count(o.slices_left_out),
  };
}

function finding(v: unknown): R.Finding {
  const o = obj(v);
  return {
    id: text(o.id),
    severity: text(o.severity) || 'info',
    title: text(o.title),
    evidence: mapOf(o.evidence, (value) => value),
    advice: text(o.advice),
  };
}

function step(v: unknown): R.Step {
  const o = obj(v);
  return {
    step: count(o.step),
    process: num(o.process),
    start_ns: count(o.start_ns),
    dur_ns: num(o.dur_ns),
    sampled: bool(o.sampled),
    ops_ns: num(o.ops_ns),
    cast_ns: num(o.cast_ns),
  };
}

/** Reads a parsed JSON value. Throws ReportError when it is no report of version 1. */
export function readReport(value: unknown): R.Report {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ReportError('This is not an ampprof report: the file holds no JSON object.');
  }
  const o = value as Json;
  const schema = text(o.schema);
  if (!/^ampprof-report\/1(\.|$)/.test(schema)) {
    const got = schema ? `"${schema}"` : 'nothing';
    throw new ReportError(`This is not a report that this page can read: "schema" is ${got}, need "ampprof-report/1".`);
  }
  const generator = obj(o.generator);
  const cores = obj(o.tensor_cores);
  return {
    schema,
    generator: [text(generator.name), text(generator.version)].filter(Boolean).join(' '),
    not_measured: mapOf(o.not_measured, text),
    notes: texts(o.notes),
    target: target(o.target),
    capture: capture(o.capture),
    totals: totals(o.totals),
    ops: arr(o.ops).map(op),
    casts: arr(o.casts).map(cast),
    kernels: arr(o.kernels).map(kernel),
    tensor_cores: {
      kernel_time_share: num(cores.kernel_time_share),
      pipe_utilization: num(cores.pipe_utilization),
      by_dtype: mapOf(cores.by_dtype, count),
    },
    memory: memory(o.memory),
    tensors: arr(o.tensors).map(tensor),
    tensors_left_out: count(o.tensors_left_out),
    loss_scale: lossScale(o.loss_scale),
    steps: arr(o.steps).map(step),
    steps_left_out: count(o.steps_left_out),
    timeline: timeline(o.timeline),
    findings: arr(o.findings).map(finding),
  };
}

/** Reads the text of a report.json. */
export function parseReport(json: string): R.Report {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new ReportError(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return readReport(value);
}

/**
 * Why the figure at `path` was not measured. A path of the map speaks for everything below it: "tensor_cores" answers
 * for "tensor_cores.kernel_time_share". Rows of a table are written with "[]".
 */
export function whyNotMeasured(report: R.Report, path: string): string {
  for (let at = path; at !== ''; at = at.replace(/(\[\]|\.?[^.[\]]+)$/, '')) {
    const reason = report.not_measured[at];
    if (reason) return reason;
  }
  return 'the report gives no reason';
}
