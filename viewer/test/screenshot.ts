// Takes a picture of the page:
// node run.mjs --script screenshot.ts OUT.png [REPORT.html | REPORT.json | KIND] [TAB] [light|dark] [WIDTHxHEIGHT]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, openPage } from './browser.ts';
import { embed, kKinds } from './make_sample.ts';

const [out, source = 'sample', tab = 'overview', theme = 'light', size = '1440x1000'] = process.argv.slice(2);
if (!out)
  throw new Error('usage: screenshot OUT.png [REPORT.html | REPORT.json | KIND] [TAB] [light|dark] [WIDTHxHEIGHT]');
const folder = mkdtempSync(join(tmpdir(), 'ampprof-page-'));

/** A page with the report in it: a report.html as it is, else the page under test with a report.json or a made one. */
function pageFile(): string {
  if (source.endsWith('.html')) return resolve(source);
  const report = kKinds[source] ? kKinds[source]() : JSON.parse(readFileSync(source, 'utf8'));
  const file = join(folder, 'report.html');
  writeFileSync(file, embed(readFileSync(process.env.AMP_VIEWER_HTML ?? '', 'utf8'), report));
  return file;
}

const browser = await launch();
try {
  const [width, height] = size.split('x').map(Number);
  const url = `${pathToFileURL(pageFile()).href}#${tab}`;
  const { page, problems } = await openPage(browser, url, { width, height, dark: theme === 'dark' });
  await page.waitForTimeout(400);
  await page.screenshot({ path: out });
  for (const problem of problems) console.error(problem);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
