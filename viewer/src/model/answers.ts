// The questions people bring to a mixed precision run, answered from a report in a figure and a sentence each. Pure:
// no page, so that the sentences can be tested. What was not measured has figure null and names the path of its reason.

import * as f from '../lib/format.ts';
import { memoryScope } from './memory_scope.ts';
import type { Report, TensorStat } from './report.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export interface Answer {
  id: string;
  question: string;
  figure: string | null;
  unmeasuredPath: string;
  sentence: string;
  tone: Tone;
  tab: string;
}

const kNarrow = ['float16', 'bfloat16', 'float8_e4m3fn', 'float8_e5m2'];

function ran(r: Report): Answer {
  const t = r.target;
  const failed = t.signal !== null || (t.exit_code !== null && t.exit_code !== 0);
  const parts: string[] = [];
  if (t.signal !== null) parts.push(`Ended by signal ${t.signal}.`);
  else if (t.exit_code !== null) parts.push(`Exit code ${t.exit_code}.`);
  else parts.push('Its end was not seen.');
  if (r.capture.steps_total !== null) {
    const sampled = r.capture.steps_sampled.length;
    parts.push(
      `${f.plural(r.capture.steps_total, 'training step')}, tensor statistics on ${f.integer(sampled)} of them.`,
    );
  }
  if (t.gpus.length) parts.push(`GPU: ${t.gpus.join(', ')}.`);
  else if (r.ops.length > 0 && r.ops.every((op) => op.device === 'cpu')) parts.push('On the CPU.');
  return {
    id: 'ran',
    question: 'What ran, and how did it end?',
    figure: t.wall_ns === null ? null : f.duration(t.wall_ns),
    unmeasuredPath: 'target.wall_ns',
    sentence: parts.join(' '),
    tone: failed ? 'bad' : 'plain',
    tab: 'timeline',
  };
}

function precision(r: Report): Answer {
  const entries = Object.entries(r.totals.by_compute_dtype).filter(([, d]) => d.time_share !== null);
  const narrow = entries.filter(([dtype]) => kNarrow.includes(dtype));
  const share = narrow.reduce((sum, [, d]) => sum + (d.time_share ?? 0), 0);
  const flops = narrow.map(([, d]) => d.flops_share);
  const flopsKnown = narrow.length > 0 && flops.every((x) => x !== null);
  const flopsShare = flops.reduce<number>((sum, x) => sum + (x ?? 0), 0);
  const names = narrow.map(([dtype]) => dtype).join(' and ');
  let sentence = 'No op ran in a narrow type.';
  if (narrow.length) {
    sentence = `of the time of all ops was spent in ${names}`;
    sentence += flopsKnown ? `, for ${f.percent(flopsShare)} of the floating point operations.` : '.';
  }
  return {
    id: 'precision',
    question: 'How much of the work ran in low precision?',
    figure: entries.length ? f.percent(share) : null,
    unmeasuredPath: 'totals.by_compute_dtype',
    sentence: entries.length ? sentence : '',
    tone: 'plain',
    tab: 'ops',
  };
}

function tensorCores(r: Report): Answer {
  const share = r.tensor_cores.kernel_time_share;
  const pipe = r.tensor_cores.pipe_utilization;
  return {
    id: 'tensor_cores',
    question: 'Am I on Tensor Cores?',
    figure: share === null ? null : f.percent(share),
    unmeasuredPath: 'tensor_cores.kernel_time_share',
    sentence:
      share === null
        ? ''
        : 'of kernel time was in kernels that use Tensor Cores' +
          (pipe === null ? '.' : `; the tensor pipe was busy ${f.percent(pipe)} of the time.`),
    tone: share === null ? 'plain' : share > 0 ? 'good' : 'warn',
    tab: 'ops',
  };
}

function casts(r: Report): Answer {
  const t = r.totals;
  const byCause = new Map<string, number>();
  for (const cast of r.casts) byCause.set(cast.cause_op, (byCause.get(cast.cause_op) ?? 0) + (cast.cpu_ns ?? 0));
  const top = [...byCause].sort((a, b) => b[1] - a[1])[0];
  const parts: string[] = [];
  if (t.casts !== null && t.cast_ns !== null) {
    parts.push(
      `${f.plural(t.casts, 'cast')} took ${f.duration(t.cast_ns)}; the cache saved ${f.integer(t.casts_cached ?? 0)} more.`,
    );
  }
  if (top && top[1] > 0) parts.push(`Most were caused by ${top[0] || 'explicit calls'} (${f.duration(top[1])}).`);
  return {
    id: 'casts',
    question: 'What did the casts cost?',
    figure: t.cast_share === null ? null : f.percent(t.cast_share),
    unmeasuredPath: 'totals.cast_share',
    sentence: t.cast_share === null ? parts.join(' ') : `of op time. ${parts.join(' ')}`,
    tone: t.cast_share !== null && t.cast_share > 0.2 ? 'warn' : 'plain',
    tab: 'ops',
  };
}

function costliest(r: Report): Answer {
  const byOp = new Map<string, { ns: number; narrow: number }>();
  let total = 0;
  for (const op of r.ops) {
    const ns = op.gpu_ns ?? op.cpu_ns;
    if (ns === null) continue;
    total += ns;
    const sum = byOp.get(op.name) ?? { ns: 0, narrow: 0 };
    sum.ns += ns;
    if (kNarrow.includes(op.compute_dtype)) sum.narrow += ns;
    byOp.set(op.name, sum);
  }
  const ranked = [...byOp].sort((a, b) => b[1].ns - a[1].ns);
  let sentence = '';
  if (ranked.length && total > 0) {
    const [name, cost] = ranked[0];
    sentence = `${f.percent(cost.ns / total)} of op time (${f.duration(cost.ns)}), `;
    sentence += `${f.percent(cost.ns ? cost.narrow / cost.ns : 0)} of it in low precision.`;
    const rest = ranked.slice(1, 3).map(([other, c]) => `${other} ${f.percent(c.ns / total)}`);
    if (rest.length) sentence += ` Then ${rest.join(', ')}.`;
    return {
      id: 'costliest',
      question: 'Which op costs most?',
      figure: name,
      unmeasuredPath: 'ops',
      sentence,
      tone: 'plain',
      tab: 'ops',
    };
  }
  return {
    id: 'costliest',
    question: 'Which op costs most?',
    figure: null,
    unmeasuredPath: 'ops',
    sentence,
    tone: 'plain',
    tab: 'ops',
  };
}

function memory(r: Report): Answer {
  const m = memoryScope(r.memory);
  const saved = m.saved_bytes;
  let sentence = '';
  if (saved !== null && m.peak_bytes !== null && m.peak_bytes_if_fp32 !== null) {
    const which = m.inSteps ? 'The peak of the training steps' : 'The peak';
    const both = `${which} is ${f.bytes(m.peak_bytes)}; in float32 it would be ${f.bytes(m.peak_bytes_if_fp32)}`;
    const share = m.peak_bytes_if_fp32 > 0 ? ` (${f.percent(Math.abs(saved) / m.peak_bytes_if_fp32)})` : '';
    if (saved > 0) sentence = `saved${share}. ${both}.`;
    else if (saved < 0) sentence = `more than float32 would need${share}: the saving is negative. ${both}.`;
    else sentence = `saved. ${both}, the same.`;
  }
  return {
    id: 'memory',
    question: 'How much memory did it save?',
    figure: saved === null ? null : f.bytes(Math.abs(saved)),
    unmeasuredPath: 'memory.saved_bytes',
    sentence,
    tone: saved === null || saved === 0 ? 'plain' : saved > 0 ? 'good' : 'warn',
    tab: 'memory',
  };
}

const kVerdictTone: Record<string, Tone> = {
  stable: 'good',
  calibration: 'good',
  occasional: 'plain',
  unstable: 'warn',
  collapse: 'bad',
  no_scaler: 'plain',
};

function lossScale(r: Report): Answer {
  const l = r.loss_scale;
  const verdict = l.verdict === null ? null : l.verdict.replace(/_/g, ' ');
  const parts = [l.verdict_text ?? ''];
  if (l.skipped_steps !== null && l.steps_attempted !== null) {
    parts.push(`${f.integer(l.skipped_steps)} of ${f.plural(l.steps_attempted, 'optimizer step')} skipped.`);
  }
  return {
    id: 'loss_scale',
    question: 'Is the loss scale healthy?',
    figure: verdict,
    unmeasuredPath: 'loss_scale.verdict',
    sentence: parts.filter(Boolean).join(' '),
    tone: (l.verdict !== null && kVerdictTone[l.verdict]) || 'plain',
    tab: 'loss_scale',
  };
}

/** Gradients as they were stored; with a scaler these are the scaled ones. */
export function storedGradients(r: Report): TensorStat[] {
  return r.tensors.filter((t) => t.role === 'gradient' || t.role === 'activation_gradient');
}

const share = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/**
 * A tensor that is stored in a narrow type cannot show by its values what was lost on the way there: for those only
 * the count made while rounding tells. Gradients kept wider tell what float16 would do to them.
 */
function underflow(r: Report): Answer {
  const gradients = storedGradients(r).filter((t) => t.count > 0);
  const did = gradients.filter((t) => t.rounding !== null);
  const would = gradients.filter(
    (t) => t.rounding === null && !kNarrow.includes(t.dtype) && t.underflow.float16 !== null,
  );
  const used = did.length > 0 ? did : would;
  const lossOf = (t: TensorStat) =>
    t.rounding ? t.rounding.to_zero : Math.round((t.underflow.float16 ?? 0) * t.count);
  const total = share(
    used.reduce((n, t) => n + lossOf(t), 0),
    used.reduce((n, t) => n + t.count, 0),
  );
  const worst = used.reduce<TensorStat | null>(
    (best, t) => (best === null || lossOf(t) / t.count > lossOf(best) / best.count ? t : best),
    null,
  );
  let sentence = '';
  if (total !== null && worst) {
    sentence =
      did.length > 0
        ? 'of the sampled gradient elements became zero when they were rounded to the type they are stored in'
        : 'of the sampled gradient elements would flush to zero in float16 at the scale they carry';
    sentence +=
      lossOf(worst) > 0
        ? `; most in ${worst.name} at step ${worst.step ?? '?'} (${f.percent(lossOf(worst) / worst.count)}).`
        : '.';
  }
  return {
    id: 'underflow',
    question: 'Do gradients flush to zero?',
    figure: total === null ? null : f.percent(total),
    unmeasuredPath: gradients.length ? 'tensors[].rounding' : 'tensors',
    sentence,
    tone: total === null ? 'plain' : total > 0.05 ? 'bad' : total > 0.005 ? 'warn' : 'good',
    tab: 'tensors',
  };
}

/** All answers, in the order in which the page shows them. */
export function answers(r: Report): Answer[] {
  return [ran(r), precision(r), tensorCores(r), costliest(r), casts(r), memory(r), lossScale(r), underflow(r)];
}

const kRank: Record<string, number> = { critical: 0, warning: 1, info: 2 };

export function bySeverity<T extends { severity: string }>(findings: T[]): T[] {
  return [...findings].sort((a, b) => (kRank[a.severity] ?? 3) - (kRank[b.severity] ?? 3));
}

/** True if some process of the run used libamp, or the report holds its ops anyway. */
export function sawLibamp(r: Report): boolean {
  return r.ops.length > 0 || r.capture.sources.includes('libamp') || r.target.processes.some((p) => p.has_libamp);
}
