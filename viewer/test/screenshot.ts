// Takes a picture of the page: node run.mjs --script screenshot.ts OUT.png [REPORT.json | KIND] [TAB] [light|dark] [WIDTHxHEIGHT]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, openPage } from './browser.ts';
import { embed, kKinds } from './make_sample.ts';

const [out, source = 'sample', tab = 'overview', theme = 'light', size = '1440x1000'] = process.argv.slice(2);
if (!out) throw new Error('usage: screenshot OUT.png [REPORT.json | KIND] [TAB] [light|dark] [WIDTHxHEIGHT]');
const template = readFileSync(process.env.AMP_VIEWER_HTML ?? '', 'utf8');
const report = kKinds[source] ? kKinds[source]() : JSON.parse(readFileSync(source, 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'ampprof-page-'));
const browser = await launch();
try {
  writeFileSync(join(folder, 'report.html'), embed(template, report));
  const [width, height] = size.split('x').map(Number);
  const url = `${pathToFileURL(join(folder, 'report.html')).href}#${tab}`;
  const { page, problems } = await openPage(browser, url, { width, height, dark: theme === 'dark' });
  await page.waitForTimeout(400);
  await page.screenshot({ path: out });
  for (const problem of problems) console.error(problem);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
