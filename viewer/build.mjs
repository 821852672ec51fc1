// Builds viewer.html: bundles src/main.ts and puts it with the style into src/page.html, all in one file. The security
// policy of the page names the hashes of exactly this script and this style, so nothing else in the document can run.
// Usage: node build.mjs [--out FILE]

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf('--out');
const out = resolve(at > 0 ? process.argv[at + 1] : join(here, 'dist', 'viewer.html'));

const bundle = await build({
  entryPoints: [join(here, 'src/main.ts')],
  bundle: true,
  write: false,
  format: 'iife',
  target: 'es2021',
  minify: true,
  charset: 'ascii',
  legalComments: 'none',
  logLevel: 'warning',
});
const script = bundle.outputFiles[0].text.trim();
const style = (
  await transform(readFileSync(join(here, 'src/style.css'), 'utf8'), { loader: 'css', minify: true, charset: 'ascii' })
).code.trim();
if (/<\/(script|style)/i.test(script + style)) throw new Error('the bundle would close its own element');

const hash = (text) => createHash('sha256').update(text, 'utf8').digest('base64');
const parts = { STYLE: style, SCRIPT: script, STYLE_HASH: hash(style), SCRIPT_HASH: hash(script) };
const page = readFileSync(join(here, 'src/page.html'), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);

// The report writer replaces this one line; it must be there exactly once.
const slot = '<script id="report-data" type="application/json">/*REPORT_JSON*/null</script>';
const place = '/*REPORT_JSON*/null';
if (page.split(slot).length !== 2 || page.split(place).length !== 2)
  throw new Error('page.html: the report slot must be there exactly once');

mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${(page.length / 1024).toFixed(0)} KiB`);
