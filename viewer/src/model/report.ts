// The report as the page reads it: types and comments only. The contract itself is profiler/report/SCHEMA.md; this
// file repeats the part that is shown. `null` is a figure that was not measured: see not_measured, and never show 0.
// Times are nanoseconds, bytes are bytes, shares are 0..1.

export type Dtype = string;

export interface Target {
  command: string[];
  exit_code: number | null;
  signal: number | string | null;
  host: string | null;
  gpus: string[];
  wall_ns: number | null;
  facts: Record<string, string>;
  processes: { pid: number; command: string[]; has_libamp: boolean; ended: string }[];
}

export interface Capture {
  sources: string[];
  dropped: Record<string, number>;
  steps_total: number | null;
  steps_recorded: number[];
  steps_sampled: number[];
  unclosed_ranges: number | null;
}

export interface DtypeTotals {
  calls: number;
  cpu_ns: number | null;
  flops: number | null;
  time_share: number | null;
  flops_share: number | null;
}

export interface Totals {
  ops_ns: number | null;
  cast_ns: number | null;
  cast_share: number | null;
  step_ns: number | null;
  casts: number | null;
  casts_cached: number | null;
  by_compute_dtype: Record<Dtype, DtypeTotals>;
}

export interface TensorCoreUse {
  eligible: boolean | null;
  used: boolean | null;
  known_by: string | null;
  pipe_utilization: number | null;
  note: string | null;
}

export interface Op {
  name: string;
  phase: string;
  rule: string;
  reason: string;
  policy: string;
  device: string;
  input_dtypes: Dtype[];
  compute_dtype: Dtype;
  output_dtype: Dtype | null;
  composite: boolean;
  calls: number;
  cpu_ns: number | null; // self time: without nested ops and casts
  total_ns: number | null;
  cast_ns: number | null;
  gpu_ns: number | null;
  flops: number | null;
  bytes: number | null;
  modules: { path: string; calls: number; cpu_ns: number | null }[];
  modules_left_out: number;
  tensor_core: TensorCoreUse;
}

export interface Cast {
  cause_op: string; // "" for explicit casts
  from: Dtype;
  to: Dtype;
  kind: string;
  phase: string;
  count: number;
  cached_count: number;
  elements: number | null;
  bytes: number | null;
  cpu_ns: number | null;
  gpu_ns: number | null;
  max_expansion: number | null;
}

export interface Kernel {
  name: string;
  count: number;
  gpu_ns: number | null;
  op: string | null;
  tensor_core: boolean | null;
  known_by: string | null;
  math_dtype: string | null;
  pipe_utilization: number | null;
}

export interface TensorCores {
  kernel_time_share: number | null;
  pipe_utilization: number | null;
  by_dtype: Record<Dtype, number>;
}

export interface CauseBytes {
  bytes: number | null;
  bytes_if_fp32: number | null;
  step_bytes: number | null; // at the peaks of in_steps
  step_bytes_if_fp32: number | null;
  peak_bytes: number | null;
}

export interface MemoryPoint {
  time_ns: number;
  bytes: number;
  bytes_if_fp32: number | null;
}

export interface StepMemory {
  peak_bytes: number | null;
  peak_bytes_if_fp32: number | null;
  saved_bytes: number | null;
  peak_step: number | null;
  peak_if_fp32_step: number | null;
}

export interface Memory {
  peak_bytes: number | null;
  peak_bytes_if_fp32: number | null;
  saved_bytes: number | null; // negative when mixed precision cost memory
  peak_time_ns: number | null;
  peak_step: number | null;
  peak_if_fp32_time_ns: number | null;
  peak_if_fp32_step: number | null;
  in_steps: StepMemory; // the same inside training steps only
  by_cause: Record<string, CauseBytes>;
  allocations: number | null;
  frees: number | null;
  end_bytes: number | null;
  timeline: MemoryPoint[];
}

export interface Shares {
  float16: number | null;
  bfloat16: number | null;
  float8_e4m3fn: number | null;
  float8_e5m2: number | null;
}

export interface TensorStat {
  name: string;
  role: string;
  dtype: Dtype;
  step: number | null;
  process: number | null;
  count: number;
  zero: number;
  nan: number;
  pos_inf: number;
  neg_inf: number;
  min_abs_nonzero: number | null;
  max_abs: number | null;
  scale: number | null; // the loss scale the values carry, 1 for none
  exponent: { first: number; counts: number[] };
  underflow: Shares;
  overflow: Shares;
  rounding: { to_zero: number; to_inf: number } | null;
}

export interface ScaleEvent {
  step: number;
  process: number | null;
  time_ns: number | null;
  scale: number | null; // the scale the step ran with
  scale_after: number | null;
  found_inf: boolean;
  skipped: boolean;
  growth_tracker: number | null;
  first_nonfinite: string | null;
  nonfinite_params: number | null;
  action: string;
}

export interface SkipRun {
  first_step: number;
  last_step: number;
  skipped: number;
  first_nonfinite: string | null;
  scale_before: number | null;
  scale_after: number | null;
  process: number | null;
}

export interface LossScale {
  events: ScaleEvent[];
  runs: SkipRun[];
  initial_scale: number | null;
  final_scale: number | null;
  min_scale: number | null;
  growth_interval: number | null;
  steps_attempted: number | null;
  steps_applied: number | null;
  skipped_steps: number | null;
  growths: number | null;
  backoffs: number | null;
  verdict: string | null;
  verdict_text: string | null;
}

export interface Step {
  step: number;
  process: number | null;
  start_ns: number;
  dur_ns: number | null;
  sampled: boolean;
  ops_ns: number | null;
  cast_ns: number | null;
}

export interface Slice {
  track: number;
  kind: string; // "op" | "cast" | "step" | "range"
  name: string;
  start_ns: number;
  dur_ns: number;
  depth: number;
  step: number | null;
  dtype: Dtype | null;
  from: Dtype | null;
  phase: string | null;
  reason: string | null;
  module: string | null;
}

export interface Timeline {
  start_ns: number;
  end_ns: number;
  tracks: { id: number; name: string; pid: number | null; tid: number | null }[];
  slices: Slice[];
  counters: { name: string; unit: string; points: { time_ns: number; value: number }[] }[];
  slices_left_out: number;
}

export interface Finding {
  id: string;
  severity: string; // "info" | "warning" | "critical"
  title: string;
  evidence: Record<string, unknown>;
  advice: string;
}

export interface Report {
  schema: string;
  generator: string;
  not_measured: Record<string, string>;
  notes: string[];
  target: Target;
  capture: Capture;
  totals: Totals;
  ops: Op[];
  casts: Cast[];
  kernels: Kernel[];
  tensor_cores: TensorCores;
  memory: Memory;
  tensors: TensorStat[];
  tensors_left_out: number;
  loss_scale: LossScale;
  steps: Step[];
  steps_left_out: number;
  timeline: Timeline;
  findings: Finding[];
}
