// Entry of the page: takes the report out of its own document (or asks for a file) and opens the views as tabs.
// import order is the flow: model reads, views show, lib knows neither.

import * as f from './lib/format.ts';
import { h, name } from './lib/dom.ts';
import { makeTabs, type Tab } from './lib/tabs.ts';
import { parseReport, ReportError } from './model/load.ts';
import type { Report } from './model/report.ts';
import { makeDropZone } from './views/drop_zone.ts';
import { buildLossScale } from './views/loss_scale.ts';
import { buildMemory } from './views/memory.ts';
import { buildOps } from './views/ops.ts';
import { buildOverview } from './views/overview.ts';
import { buildTensors } from './views/tensors.ts';
import { buildTimeline } from './views/timeline.ts';

const kTitles: [string, string][] = [
  ['overview', 'Overview'],
  ['ops', 'Ops'],
  ['timeline', 'Timeline'],
  ['tensors', 'Tensors'],
  ['loss_scale', 'Loss scale'],
  ['memory', 'Memory'],
];

function header(report: Report, tabs: HTMLElement): HTMLElement {
  const command = report.target.command.join(' ');
  const facts = [report.target.host, report.target.wall_ns === null ? null : f.duration(report.target.wall_ns)].filter(
    (x): x is string => x !== null && x !== '',
  );
  return h(
    'header',
    {},
    h(
      'div',
      { class: 'title' },
      h('h1', {}, 'ampprof'),
      h('span', { class: 'command' }, name(command || 'command unknown')),
      h('span', { class: 'right' }, name(facts.join(', '), { title: null })),
    ),
    tabs,
  );
}

function showReport(app: HTMLElement, report: Report): void {
  const titleOf = (id: string) => kTitles.find(([tab]) => tab === id)?.[1] ?? id;
  const builders: Record<string, (panel: HTMLElement) => void> = {
    overview: (panel) => buildOverview(report, panel, (id) => tabs.open(id), titleOf),
    ops: (panel) => buildOps(report, panel),
    timeline: (panel) => buildTimeline(report, panel),
    tensors: (panel) => buildTensors(report, panel),
    loss_scale: (panel) => buildLossScale(report, panel),
    memory: (panel) => buildMemory(report, panel),
  };
  const tabs = makeTabs(
    'Views of the report',
    kTitles.map(([id, title]): Tab => ({ id, title, build: builders[id] })),
  );
  app.replaceChildren(header(report, tabs.element), tabs.panels);
  tabs.open(location.hash.slice(1));
}

function start(): void {
  const app = document.getElementById('app');
  if (!app) return;
  const show = (report: Report) => showReport(app, report);
  const text = document.getElementById('report-data')?.textContent?.replace('/*REPORT_JSON*/', '').trim() ?? '';
  if (text === '' || text === 'null') {
    app.replaceChildren(makeDropZone(null, show));
    return;
  }
  try {
    show(parseReport(text));
  } catch (problem) {
    if (!(problem instanceof ReportError)) throw problem;
    app.replaceChildren(makeDropZone(problem.message, show));
  }
}

start();
