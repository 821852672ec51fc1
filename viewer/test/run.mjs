// Bundles the tests (TypeScript) next to the packages and hands them to node's test runner. Without Chromium the page
// tests are skipped: exit code 77, with the reason.
// Usage: node run.mjs [--only model|page] [--script FILE ARGS...]      AMP_VIEWER_HTML names the page under test

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const args = process.argv.slice(2);
const only = args[0] === '--only' ? args[1] : null;
const script = args[0] === '--script' ? args[1] : null;
const tests = { model: ['model_test.ts'], page: ['page_test.ts', 'page_odd_test.ts'] };
const names = script ? [script] : only ? tests[only] : [...tests.model, ...tests.page];
const out = join(root, '.test-build', script ? 'script' : (only ?? 'all')); // runs may be side by side

mkdirSync(out, { recursive: true });
await build({
  entryPoints: [...names, 'browser.ts'].map((name) => join(here, name)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  external: ['playwright-core'],
  logLevel: 'warning',
});

// Where npm run build leaves the page, and where CMake does.
const built = [join(root, 'dist', 'viewer.html'), join(dirname(root), 'viewer.html')];
const page = process.env.AMP_VIEWER_HTML ?? built.find((file) => existsSync(file)) ?? built[0];
if (names.some((name) => name !== 'model_test.ts')) {
  if (!existsSync(page)) {
    console.error(`no page at ${page}: run "npm run build" first, or set AMP_VIEWER_HTML`);
    process.exit(1);
  }
  const { findChromium } = await import(pathToFileURL(join(out, 'browser.mjs')).href);
  if (!findChromium()) {
    console.log('SKIPPED: no Chromium found (Debian: apt-get install chromium; or set AMP_CHROMIUM)');
    process.exit(77);
  }
}
const files = names.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
const command = script ? [files[0], ...args.slice(2)] : ['--test', '--test-reporter=spec', ...files];
const result = spawnSync(process.execPath, command, {
  stdio: 'inherit',
  env: { ...process.env, AMP_VIEWER_HTML: page },
});
process.exit(result.status ?? 1);
