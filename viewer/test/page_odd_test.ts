// The page in headless Chromium with reports that are not as one would like: hostile names, nothing measured, far too
// many rows, no report at all. Each test ends by checking that the page logged no error and asked for local files only.

import assert from 'node:assert/strict';
import test from 'node:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bigReport, embed, emptyReport, hostileReport, kHostileNames, makeReport } from './make_sample.ts';
import {
  finish,
  kTabs,
  openFile,
  openReport,
  opNames,
  panelText,
  picture,
  template,
  writeTemporary,
} from './page_fixture.ts';

test('hostile names stay text in every view', async () => {
  const watched = await openReport(hostileReport());
  const { page } = watched;
  for (const tab of kTabs) {
    await page.click(`#tab-${tab}`);
    await page.waitForTimeout(60);
  }
  assert.equal(await page.evaluate(() => (window as any).broken), undefined);
  assert.equal(await page.locator('img').count(), 0, 'no element came out of a name');
  assert.equal(await page.locator('main b > b, main bdi b, main bdi img').count(), 0);
  assert.equal(await page.locator('script').count(), 2, 'the data and the page, no other script');
  const text = (tab: string) => page.locator(`#panel-${tab}`).evaluate((panel) => panel.textContent ?? '');
  for (const tab of ['overview', 'ops', 'tensors', 'loss_scale', 'memory'])
    assert.ok((await text(tab)).includes(kHostileNames.script), `${tab} shows the name as it is`);
  const ops = await text('ops');
  assert.ok(ops.includes('🙂 \u202egnirts'), 'emoji and direction marks are kept');
  assert.ok(ops.includes('␀␇ end'), 'control characters are made visible');
  assert.ok(ops.includes('\ufffd\ufffd'));
  const isolated = await page
    .locator('bdi', { hasText: 'gnirts' })
    .first()
    .evaluate((e) => getComputedStyle(e).unicodeBidi);
  assert.match(isolated, /isolate/);
  await page.click('#tab-timeline');
  const canvas = await page.locator('.timeline canvas').boundingBox();
  if (canvas) await page.mouse.click(canvas.x + 300, canvas.y + 73);
  assert.ok((await page.locator('.details').textContent())?.includes(kHostileNames.script));
  await finish(watched);
});

test('a run in which nothing was seen says so everywhere, with the reason, and shows no zero', async () => {
  const watched = await openReport(emptyReport());
  const { page } = watched;
  for (const tab of kTabs) {
    await page.click(`#tab-${tab}`);
    const text = await panelText(page, tab);
    assert.match(text, /not measured/, tab);
    assert.match(text, /never used libamp/, tab);
    assert.ok(!/(^|\s)0( %| B| ns|$)/.test(text), `${tab} shows a zero: ${text}`);
  }
  await finish(watched);
});

test('5 000 ops, 20 000 slices and 4 000 tensors stay usable: only what is in sight exists', async () => {
  const report = bigReport();
  const watched = await openReport(report, 'ops');
  const { page } = watched;
  const rows = page.locator('table[aria-label=Ops] tbody tr[aria-rowindex]');
  assert.ok((await rows.count()) < 120);
  assert.equal(await page.getAttribute('table[aria-label=Ops]', 'aria-rowcount'), '5001');
  await page
    .locator('.scroller')
    .first()
    .evaluate((e) => (e.scrollTop = e.scrollHeight));
  await page.waitForTimeout(200);
  const cheapest = [...report.ops].sort((a: any, b: any) => a.cpu_ns - b.cpu_ns)[0].name;
  assert.ok((await opNames(page)).includes(cheapest), 'the end of the list can be reached');
  await page.fill('#op-text', '_4321');
  assert.deepEqual(
    (await opNames(page)).map((name) => name.replace(/.*_/, '')),
    ['4321'],
  );
  await page.click('#tab-timeline');
  await page.waitForTimeout(200);
  const before = await picture(page);
  await page.locator('.timeline canvas').focus();
  for (let i = 0; i < 12; ++i) await page.keyboard.press('+');
  await page.waitForTimeout(100);
  assert.notEqual(await picture(page), before);
  await page.click('#tab-tensors');
  assert.ok((await page.locator('table[aria-label=Tensors] tbody tr').count()) < 120);
  await finish(watched);
});

test('without data the page takes a file, and says what is wrong with one that is no report', async () => {
  const watched = await openReport(null);
  const { page } = watched;
  assert.match(await page.innerText('#app'), /holds no report yet/);
  await page.setInputFiles('#report-file', writeTemporary('{"traceEvents": []}', 'json'));
  await page.waitForSelector('.error:not(:empty)');
  assert.match(await page.innerText('.error'), /"schema" is nothing, need "ampprof-report\/1"/);
  await page.setInputFiles('#report-file', writeTemporary('{oops', 'json'));
  await page.waitForFunction(() => /not JSON/.test(document.querySelector('.error')?.textContent ?? ''));
  await page.setInputFiles('#report-file', writeTemporary(JSON.stringify(makeReport()), 'json'));
  await page.waitForSelector('[data-answer=ran]');
  assert.match(await page.innerText('[data-answer=ran]'), /9\.43 s/);
  await finish(watched);
  const dropped = await openReport(null);
  await dropped.page.evaluate((json) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([json], 'report.json', { type: 'application/json' }));
    document
      .querySelector('.drop')
      ?.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, JSON.stringify(makeReport()));
  await dropped.page.waitForSelector('[data-answer=ran]');
  await finish(dropped);
});

test('embedded data that is no report is named, not a blank page', async () => {
  const watched = await openReport({ schema: 'ampprof-report/7' });
  assert.match(await watched.page.innerText('.error'), /"ampprof-report\/7"/);
  await finish(watched);
});

test('the page keeps its own script only: one that gets into the document does not run', async () => {
  const file = writeTemporary(
    embed(template, makeReport()).replace('</body>', '<script>window.broken = 1</script></body>'),
  );
  const { page, problems } = await openFile(file);
  assert.equal(await page.evaluate(() => (window as any).broken), undefined);
  assert.ok(
    problems.some((problem) => /Content.Security.Policy/i.test(problem)),
    problems.join(),
  );
  assert.ok(await page.locator('[data-answer=ran]').isVisible());
  await page.context().close();
});

test('the template is one file: no address in it, and the slot once', () => {
  assert.equal(
    template.split('<script id="report-data" type="application/json">/*REPORT_JSON*/null</script>').length,
    2,
  );
  const addresses = template.match(/\b(?:https?:)?\/\/[a-z0-9.-]+\.[a-z]{2,}/gi) ?? [];
  assert.deepEqual(
    addresses.filter((address: string) => !/^http:\/\/www\.w3\.org$/.test(address)),
    [],
    'only the name of the SVG namespace',
  );
  assert.ok(!/innerHTML|insertAdjacentHTML|document\.write|outerHTML/.test(template));
});

const samples = process.env.AMP_VIEWER_SAMPLES ?? '';
test('reports of the report writer show in every view', { skip: !existsSync(samples) && 'no samples' }, async () => {
  for (const file of readdirSync(samples).filter((name: string) => name.endsWith('.json'))) {
    const watched = await openReport(JSON.parse(readFileSync(join(samples, file), 'utf8')));
    for (const tab of kTabs) {
      await watched.page.click(`#tab-${tab}`);
      await watched.page.waitForTimeout(50);
      assert.ok((await panelText(watched.page, tab)).length > 20, `${file}: ${tab}`);
    }
    await finish(watched);
  }
});
