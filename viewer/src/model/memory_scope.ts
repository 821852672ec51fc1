// Which memory figures the page leads with: those of the training steps where the report has them, else those of the
// whole run. Evaluation on a large batch often has the peak of the whole run, and hides what training saved.
import type { CauseBytes, Memory, StepMemory } from './report.ts';

export interface MemoryScope extends StepMemory {
  inSteps: boolean;
  causes: Array<[string, CauseBytes]>; // bytes and bytes_if_fp32 are those at the peaks of this scope
}

export function memoryScope(m: Memory): MemoryScope {
  const inSteps = m.in_steps.peak_bytes !== null && m.in_steps.peak_bytes_if_fp32 !== null;
  const causes = Object.entries(m.by_cause).map(([cause, c]): [string, CauseBytes] => [
    cause,
    inSteps ? { ...c, bytes: c.step_bytes, bytes_if_fp32: c.step_bytes_if_fp32 } : c,
  ]);
  return { ...(inSteps ? m.in_steps : m), inSteps, causes };
}
