// The first screen: what the reader must know before any number, the answers, the precision mix, the findings.

import * as f from '../lib/format.ts';
import { button, h, name, visible, type Child } from '../lib/dom.ts';
import { dtypeFamily } from '../lib/dtype_color.ts';
import { empty, notMeasured, section } from '../lib/parts.ts';
import { answers, bySeverity, sawLibamp, type Answer } from '../model/answers.ts';
import { whyNotMeasured } from '../model/load.ts';
import type { Finding, Report } from '../model/report.ts';

export type OpenTab = (id: string) => void;

const kToneWord: Record<string, string> = { good: 'good', warn: 'look at this', bad: 'bad', plain: '' };

function answerBox(report: Report, answer: Answer, openTab: OpenTab, tabTitle: string): HTMLElement {
  const word = kToneWord[answer.tone];
  return h(
    'div',
    { class: `answer tone-${answer.tone}`, 'data-answer': answer.id },
    h('h3', {}, h('span', { class: 'dot', role: 'img', 'aria-label': word, title: word }), answer.question),
    h(
      'div',
      { class: 'number-line' },
      answer.figure === null ? notMeasured(report, answer.unmeasuredPath) : name(answer.figure, { title: null }),
    ),
    h(
      'p',
      {},
      answer.figure === null && [name(whyNotMeasured(report, answer.unmeasuredPath), { title: null }), '. '],
      name(answer.sentence, { title: null }),
      ' ',
      button(`${tabTitle} →`, { class: 'link' }, () => openTab(answer.tab)),
    ),
  );
}

function precisionBar(report: Report): Child {
  const entries = Object.entries(report.totals.by_compute_dtype)
    .filter(([, d]) => d.time_share !== null)
    .sort((a, b) => (b[1].time_share ?? 0) - (a[1].time_share ?? 0));
  if (entries.length === 0) return empty(notMeasured(report, 'totals.by_compute_dtype', true));
  const label = entries.map(([dtype, d]) => `${dtype} ${f.percent(d.time_share ?? 0)}`).join(', ');
  const bar = h('div', { class: 'precision', role: 'img', 'aria-label': label });
  for (const [dtype, d] of entries) {
    const part = h('div', { title: `${dtype}: ${f.percent(d.time_share ?? 0)} of op time` });
    part.style.width = `${(d.time_share ?? 0) * 100}%`;
    part.style.background = `var(--${dtypeFamily(dtype)})`;
    bar.append(part);
  }
  const legend = entries.map(([dtype, d]) => {
    const swatch = h('span', { class: 'swatch' });
    swatch.style.background = `var(--${dtypeFamily(dtype)})`;
    const flops = d.flops_share === null ? '' : `, ${f.percent(d.flops_share)} of flops`;
    return h(
      'span',
      {},
      swatch,
      name(dtype),
      h('b', {}, ` ${f.percent(d.time_share ?? 0)}`),
      ` of time${flops}, ${f.plural(d.calls, 'call')}`,
    );
  });
  return [bar, h('div', { class: 'legend' }, legend)];
}

/** Evidence by the unit that its key names: `_ns`, `bytes`, `_share`. */
export function evidenceText(key: string, value: unknown): string {
  if (value === null || value === undefined) return 'not measured';
  if (typeof value === 'number') {
    if (/_ns$/.test(key)) return f.duration(value);
    if (/(^|_)bytes(_|$)/.test(key)) return f.bytes(value);
    if (/(^|_)share(_|$)/.test(key)) return f.percent(value);
    if (/(^|_)scale(_|$)/.test(key)) return f.scale(value);
    return Number.isInteger(value) ? f.integer(value) : f.magnitude(value);
  }
  if (Array.isArray(value)) {
    const shown = value
      .slice(0, 6)
      .map((item) => evidenceText('', item))
      .join(', ');
    return value.length > 6 ? `${shown}, and ${value.length - 6} more` : shown;
  }
  return visible(typeof value === 'string' ? value : JSON.stringify(value));
}

function findingBox(finding: Finding): HTMLElement {
  const severity = ['critical', 'warning', 'info'].includes(finding.severity) ? finding.severity : 'info';
  const evidence = Object.entries(finding.evidence).map(([key, value]) =>
    h(
      'span',
      {},
      name(key.replace(/_/g, ' '), { title: null }),
      ' ',
      h('b', {}, name(evidenceText(key, value), { title: null })),
    ),
  );
  return h(
    'div',
    { class: `finding ${severity}`, 'data-finding': finding.id },
    h('h3', {}, h('span', { class: 'severity' }, severity), name(finding.title, { title: finding.id })),
    finding.advice !== '' && h('p', {}, name(finding.advice, { title: null })),
    evidence.length > 0 && h('div', { class: 'evidence' }, evidence),
  );
}

function notes(report: Report): Child {
  const lines = report.notes.map((note) => name(note, { title: null }));
  const dropped = Object.entries(report.capture.dropped).filter(([, n]) => n > 0);
  if (dropped.length && report.notes.length === 0) {
    lines.push(
      name(
        `Records were lost: ${dropped.map(([kind, n]) => `${kind} ${f.integer(n)}`).join(', ')}. Sums below are too small.`,
        { title: null },
      ),
    );
  }
  if (lines.length === 0) return null;
  return h(
    'div',
    { class: 'notes', role: 'note' },
    h('b', {}, 'Before you read the numbers'),
    h(
      'ul',
      {},
      lines.map((line) => h('li', {}, line)),
    ),
  );
}

function facts(report: Report): Child {
  const rows: [string, string][] = [
    ['command', report.target.command.join(' ')],
    ['host', report.target.host ?? ''],
    ['recorded', report.capture.sources.join(', ')],
    ...Object.entries(report.target.facts),
    ['report', [report.schema, report.generator].filter(Boolean).join(', ')],
  ];
  const filled = rows.filter(([, value]) => value !== '');
  return h(
    'dl',
    { class: 'facts' },
    filled.map(([key, value]) => [h('dt', {}, name(key, { title: null })), h('dd', {}, name(value, { title: null }))]),
  );
}

export function buildOverview(
  report: Report,
  panel: HTMLElement,
  openTab: OpenTab,
  titleOf: (id: string) => string,
): void {
  const findings = bySeverity(report.findings);
  panel.append(
    ...[notes(report)].filter((node): node is HTMLElement => node instanceof Node),
    h(
      'section',
      {},
      h(
        'div',
        { class: 'answers' },
        answers(report).map((a) => answerBox(report, a, openTab, titleOf(a.tab))),
      ),
    ),
    section('Time by compute dtype', precisionBar(report)),
    section(
      findings.length ? `Findings (${findings.length})` : 'Findings',
      findings.length
        ? findings.map(findingBox)
        : empty(
            sawLibamp(report)
              ? 'Nothing worth a warning was found.'
              : 'No finding: the run did not use libamp, so there was nothing to judge.',
          ),
    ),
    section('About this run', facts(report)),
  );
}
