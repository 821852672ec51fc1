// The page without data: takes a report.json by drop or by file dialog. The file is read here, nothing is sent.

import { button, h, name, on } from '../lib/dom.ts';
import { parseReport, ReportError } from '../model/load.ts';
import type { Report } from '../model/report.ts';

export function makeDropZone(error: string | null, show: (report: Report) => void): HTMLElement {
  const message = h('p', { class: 'error', role: 'alert' }, error === null ? null : name(error, { title: null }));
  const open = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    try {
      show(parseReport(await file.text()));
    } catch (problem) {
      const text = problem instanceof ReportError ? problem.message : `The file could not be shown: ${String(problem)}`;
      message.replaceChildren(name(`${file.name}: ${text}`, { title: null }));
    }
  };
  const input = on(h('input', { type: 'file', accept: '.json,application/json', hidden: true, id: 'report-file' }), {
    change: () => void open(input.files?.[0]),
  });
  const zone = h(
    'div',
    { class: 'drop' },
    h('h1', {}, 'ampprof report'),
    h('p', {}, 'This page holds no report yet. Drop a report.json here, or'),
    button('choose a file', { class: 'plain' }, () => input.click()),
    input,
    message,
    h('p', { class: 'hint' }, 'The file stays on this computer.'),
  );
  return on(zone, {
    dragover: (event) => {
      event.preventDefault();
      zone.classList.add('over');
    },
    dragleave: () => zone.classList.remove('over'),
    drop: (event) => {
      event.preventDefault();
      zone.classList.remove('over');
      void open(event.dataTransfer?.files[0]);
    },
  });
}
