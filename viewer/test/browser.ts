// Starts Chromium for the tests: nothing leaves the machine, and every request a page makes is noted.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

const kCandidates = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
];

/** The path of a Chromium that starts, or null. AMP_CHROMIUM names one. */
export function findChromium(): string | null {
  const named = process.env.AMP_CHROMIUM;
  for (const path of named ? [named] : kCandidates) {
    // A wrapper that only asks for another package is no browser: it must tell its version.
    if (
      existsSync(path) &&
      /Chrom/.test(String(spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 60000 }).stdout))
    )
      return path;
  }
  return null;
}

export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error('no Chromium found');
  return chromium.launch({
    executablePath,
    headless: true,
    timeout: 120000,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export interface Watched {
  page: Page;
  problems: string[]; // console errors, uncaught exceptions, requests that are not for a local file
}

/** Opens a local file in a fresh page. */
export async function openPage(
  browser: Browser,
  url: string,
  options: { width?: number; height?: number; dark?: boolean } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 1000 },
    colorScheme: options.dark ? 'dark' : 'light',
    offline: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}
