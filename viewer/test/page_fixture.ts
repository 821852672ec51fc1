// What the page tests share: one Chromium for a file of tests, pages with a report in them, what a reader sees.

import assert from 'node:assert/strict';
import test from 'node:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { launch, openPage, type Watched } from './browser.ts';
import { embed } from './make_sample.ts';

export const template: string = readFileSync(process.env.AMP_VIEWER_HTML ?? '', 'utf8');
export const kTabs = ['overview', 'ops', 'timeline', 'tensors', 'loss_scale', 'memory'];
const folder: string = mkdtempSync(join(tmpdir(), 'ampprof-page-'));
let browser: Browser;
let files = 0;

test.before(async () => (browser = await launch()));
test.after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

export function writeTemporary(content: string, extension = 'html'): string {
  const file = join(folder, `${++files}.${extension}`);
  writeFileSync(file, content);
  return file;
}

export function openFile(file: string, tab = 'overview', options = {}): Promise<Watched> {
  return openPage(browser, `${pathToFileURL(file).href}#${tab}`, options);
}

/** The page with a report in it; null is the page as it was built. */
export function openReport(report: unknown, tab = 'overview', options = {}): Promise<Watched> {
  return openFile(writeTemporary(report === null ? template : embed(template, report)), tab, options);
}

/** The end of each test: nothing went wrong unseen. */
export async function finish({ page, problems }: Watched): Promise<void> {
  assert.deepEqual(problems, []);
  await page.context().close();
}

/** What the panel in sight says, without its line breaks. */
export async function panelText(page: Page, tab: string): Promise<string> {
  return (await page.locator(`#panel-${tab}`).innerText()).replace(/\s+/g, ' ');
}

/** Names of the op rows in sight, from the top. */
export function opNames(page: Page): Promise<string[]> {
  return page.locator('table[aria-label=Ops] tbody tr[aria-rowindex]:not(.child) td:first-child bdi').allInnerTexts();
}

/** The picture on the timeline's canvas, to see whether it changed. */
export function picture(page: Page): Promise<string> {
  return page.locator('.timeline canvas').evaluate((canvas: any) => canvas.toDataURL());
}
