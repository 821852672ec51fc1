// The page in headless Chromium: every view is opened and used as a reader would. Each test ends by checking that the
// page logged no error and asked for nothing but local files. Odd reports have their own file, page_odd_test.ts.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Page } from 'playwright-core';
import { collapseReport, gradientValues, kLayers, kScale, makeReport, scaledValues } from './make_sample.ts';
import { finish, kTabs, openReport, opNames, panelText, picture } from './page_fixture.ts';
import { kFormatIds, lossesAt } from './rounding.ts';

const integerOf = (text: string): number => Number(text.replace(/[^\d]/g, ''));

test('every view shows in both themes', async () => {
  for (const dark of [false, true]) {
    const watched = await openReport(makeReport(), 'overview', { dark });
    const { page } = watched;
    for (const tab of kTabs) {
      await page.click(`#tab-${tab}`);
      await page.waitForTimeout(50);
      assert.ok(await page.locator(`#panel-${tab}`).isVisible());
      assert.equal(await page.locator('[role=tabpanel]:visible').count(), 1);
      assert.ok((await panelText(page, tab)).length > 100, `${tab} is empty`);
      assert.ok(
        !/\bNaN\b(?!, ∞| or infinite)|undefined|\[object/.test(await panelText(page, tab)),
        `${tab} shows a raw value`,
      );
      const wider = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(wider <= 0, `${tab} is ${wider} pixels wider than the window`);
    }
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const [red] = background.match(/\d+/g)?.map(Number) ?? [];
    assert.equal(red < 128, dark, background);
    await finish(watched);
  }
});

test('tabs follow the keyboard and the address', async () => {
  const watched = await openReport(makeReport(), 'memory');
  const { page } = watched;
  assert.ok(await page.locator('#panel-memory').isVisible(), 'the address names the view');
  await page.focus('#tab-memory');
  await page.keyboard.press('ArrowRight');
  assert.ok(await page.locator('#panel-overview').isVisible(), 'after the last comes the first');
  await page.keyboard.press('ArrowRight');
  assert.ok(await page.locator('#panel-ops').isVisible());
  assert.equal(await page.evaluate(() => location.hash), '#ops');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'tab-ops');
  await finish(watched);
});

test('the overview answers, says what was not measured and why, and puts the worst finding first', async () => {
  const watched = await openReport(makeReport());
  const { page } = watched;
  const cores = await page.locator('[data-answer=tensor_cores]').innerText();
  assert.match(cores, /not measured/);
  assert.match(cores, /the run used no GPU/);
  assert.ok(!/0 %/.test(cores), 'not measured is never a zero');
  assert.match(await page.locator('[data-answer=memory]').innerText(), /18\.5 MiB/);
  assert.deepEqual(
    await page.locator('[data-finding]').evaluateAll((all) => all.map((e) => e.getAttribute('data-finding'))),
    ['gradient_underflow', 'calibration'],
  );
  await page.locator('[data-answer=loss_scale] button').click();
  assert.ok(await page.locator('#panel-loss_scale').isVisible());
  await finish(watched);
});

test('ops sort by each column, both ways', async () => {
  const report = makeReport();
  const watched = await openReport(report, 'ops');
  const { page } = watched;
  const expected = (key: string, descending: boolean) => {
    const known = report.ops
      .filter((op: any) => op[key] !== null)
      .sort((a: any, b: any) => (descending ? b[key] - a[key] : a[key] - b[key]));
    return [...known, ...report.ops.filter((op: any) => op[key] === null)].map((op: any) => op.name);
  };
  assert.deepEqual(await opNames(page), expected('cpu_ns', true), 'most time first at the start');
  for (const key of ['flops', 'bytes', 'cast_ns']) {
    await page.click(`table[aria-label=Ops] th[data-column=${key}] button`);
    assert.deepEqual(await opNames(page), expected(key, true), key);
    assert.equal(await page.getAttribute(`table[aria-label=Ops] th[data-column=${key}]`, 'aria-sort'), 'descending');
    await page.click(`table[aria-label=Ops] th[data-column=${key}] button`);
    assert.deepEqual(await opNames(page), expected(key, false), `${key} ascending, unknown last`);
  }
  await page.click('table[aria-label=Ops] th[data-column=name] button');
  assert.deepEqual(await opNames(page), report.ops.map((op: any) => op.name).sort(), 'words from A');
  await finish(watched);
});

test('ops filter by text, dtype, phase and reason; casts open under their op', async () => {
  const watched = await openReport(makeReport(), 'ops');
  const { page } = watched;
  await page.fill('#op-text', 'softmax');
  assert.deepEqual(await opNames(page), ['log_softmax']);
  await page.fill('#op-text', '');
  await page.selectOption('#op-phase', 'optimizer');
  assert.deepEqual((await opNames(page)).sort(), ['add_', 'sgd_step']);
  await page.selectOption('#op-reason', 'autocast off');
  assert.deepEqual(await opNames(page), ['sgd_step']);
  assert.match(await panelText(page, 'ops'), /1 of 12 rows/);
  await page.selectOption('#op-phase', '');
  await page.selectOption('#op-reason', '');
  await page.selectOption('#op-dtype', 'int64');
  assert.deepEqual(await opNames(page), ['nll_loss']);
  await page.selectOption('#op-dtype', '');
  await page.fill('#op-text', 'linear');
  const flops = page.locator('table[aria-label=Ops] [data-unmeasured="ops[].flops"]');
  assert.equal(await flops.innerText(), 'not measured', 'an op without a formula has no 0 flops');
  assert.equal(await flops.getAttribute('title'), 'the op has no formula');
  assert.equal(await page.locator('tr.child').count(), 0);
  await page.click('table[aria-label=Ops] .expander');
  const children = await page.locator('tr.child').allInnerTexts();
  assert.equal(children.length, 2);
  assert.match(children[0], /autocast[^]*600/, 'its casts, and how many');
  assert.match(children[1], /fc1[^]*300/, 'the module that called it, and how often');
  await page.click('table[aria-label=Ops] .expander');
  assert.equal(await page.locator('tr.child').count(), 0);
  await finish(watched);
});

/** Sets the slider as a person would see it move. */
async function slide(page: Page, k: number): Promise<void> {
  await page.locator('#loss-scale').evaluate((slider: any, value) => {
    slider.value = String(value);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  }, k);
}

async function shownLosses(page: Page, id: string) {
  const cells = page.locator(`#what-if tr[data-type=${id}] td span[data-low]`);
  const read = async (i: number) => ({
    low: Number(await cells.nth(i).getAttribute('data-low')),
    high: Number(await cells.nth(i).getAttribute('data-high')),
    text: await cells.nth(i).innerText(),
  });
  return { flushed: await read(0), overflowed: await read(2) };
}

async function chooseTensor(page: Page, role: string, step: string, row: string): Promise<void> {
  await page.selectOption('#tensor-role', role);
  await page.selectOption('#tensor-step', step);
  await page.locator('table[aria-label=Tensors] tbody tr', { hasText: row }).first().click();
}

test('the loss-scale slider changes the numbers, and they are those of rounding each value', async () => {
  const watched = await openReport(makeReport(), 'tensors');
  const { page } = watched;
  const sources: [string, string, number[]][] = [
    ['unscaled_gradient', 'fc2.weight', gradientValues(6, 299)],
    ['gradient', 'conv1.weight', scaledValues(0, 299)],
    ['unscaled_gradient', 'all unscaled gradients', kLayers.flatMap((_, layer) => gradientValues(layer, 299))],
  ];
  let moved = 0;
  for (const [role, row, values] of sources) {
    await chooseTensor(page, role, '299', row);
    let before = '';
    for (const k of [-20, -4, 0, 1, 7, 13, 24, 40]) {
      await slide(page, k);
      for (const id of kFormatIds) {
        const truth = lossesAt(values, k, id);
        const shown = await shownLosses(page, id);
        for (const key of ['flushed', 'overflowed'] as const) {
          const { low, high, text } = shown[key];
          assert.ok(
            low <= truth[key] && truth[key] <= high,
            `${row} k=${k} ${id} ${key}: ${truth[key]} not in [${low}, ${high}]`,
          );
          assert.ok(high - low <= values.length / 8, 'a bound is no wider than a bin');
          if (low === high) assert.equal(integerOf(text.split('(')[0]), low, `the page says ${text}`);
          else assert.match(text, /between .* to /);
        }
      }
      const now = await page.locator('#what-if').innerText();
      if (now !== before) moved += 1;
      before = now;
    }
  }
  assert.ok(moved >= 20, `the numbers changed only ${moved} times`);
  await finish(watched);
});

test('the slider names the loss scale, moves the bars, and follows the keyboard and the buttons', async () => {
  const watched = await openReport(makeReport(), 'tensors');
  const { page } = watched;
  await chooseTensor(page, 'gradient', '100', 'conv2.weight');
  const exponents = () =>
    page
      .locator('.tensor-detail [data-exponent]')
      .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('data-exponent'))));
  const before = await exponents();
  assert.match(await page.innerText('#loss-scale-value'), /2¹³/, `recorded with ${kScale}`);
  await page.focus('#loss-scale');
  await page.keyboard.press('ArrowRight');
  assert.match(await page.innerText('#loss-scale-value'), /2¹⁴/);
  assert.deepEqual(
    await exponents(),
    before.map((e) => e + 1),
    'every bar moves by one binade',
  );
  await page.click('#scale-none');
  assert.match(await page.innerText('#loss-scale-value'), /^1$/);
  await page.click('#scale-best');
  const values = scaledValues(2, 100);
  const best = Number(await page.inputValue('#loss-scale'));
  assert.equal(lossesAt(values, best, 'float16').overflowed, 0);
  assert.ok(lossesAt(values, best + 1, 'float16').overflowed > 0, 'the best scale is the largest without overflow');
  await page.click('#scale-recorded');
  assert.deepEqual(await exponents(), before);
  await page.click('#what-if tr[data-type=float8_e4m3fn] button');
  assert.match(await page.innerText('#best-scale'), /float8_e4m3fn/);
  assert.equal(await page.inputValue('#tensor-type'), 'float8_e4m3fn');
  await finish(watched);
});

test('tensors filter, and sort by what they lose', async () => {
  const report = makeReport();
  const watched = await openReport(report, 'tensors');
  const { page } = watched;
  await page.selectOption('#tensor-role', 'weight');
  await page.selectOption('#tensor-step', '200');
  await page.fill('#tensor-text', 'conv');
  const names = () => page.locator('table[aria-label=Tensors] tbody tr[aria-rowindex] td:first-child').allInnerTexts();
  assert.deepEqual((await names()).sort(), kLayers.filter((name) => name.startsWith('conv')).sort());
  await page.locator('table[aria-label=Tensors] tbody tr[aria-rowindex]').first().click();
  await page.keyboard.press('ArrowDown');
  assert.equal(
    await page.locator('table[aria-label=Tensors] tr.selected td').first().innerText(),
    (await names())[1],
    'arrow keys choose the next row',
  );
  assert.equal(await page.locator('#tensor-detail h2').innerText(), (await names())[1]);
  await page.fill('#tensor-text', '');
  await page.selectOption('#tensor-role', 'unscaled_gradient');
  await page.selectOption('#tensor-type', 'float8_e5m2');
  await page.click('table[aria-label=Tensors] th[data-column=underflow] button');
  const expected = report.tensors
    .filter((t: any) => t.role === 'unscaled_gradient' && t.step === 200)
    .sort((a: any, b: any) => b.underflow.float8_e5m2 - a.underflow.float8_e5m2)
    .map((t: any) => t.name);
  assert.deepEqual(
    (await names()).filter((name) => !name.startsWith('all ')),
    expected,
  );
  await finish(watched);
});

test('the loss scale is drawn as steps, skips are marked, a long run is one named span and no vertical line', async () => {
  const watched = await openReport(collapseReport(), 'loss_scale');
  const { page } = watched;
  const text = await panelText(page, 'loss_scale');
  assert.match(text, /91 consecutive skipped steps from step 12000, first non-finite parameter block\.7\.attn\.weight/);
  assert.equal(await page.locator('[data-run]').count(), 1);
  const path = (await page.getAttribute('[data-line=scale]', 'd')) ?? '';
  const points = path
    .slice(1)
    .split('L')
    .map((pair) => pair.split(' ').map(Number));
  for (let i = 1; i < points.length; ++i) {
    const [dx, dy] = [points[i][0] - points[i - 1][0], points[i][1] - points[i - 1][1]];
    assert.ok(dx === 0 || Math.abs(dy) < 0.11, 'the line only steps');
    assert.ok(Math.abs(dy) < 10, `one step falls ${dy} pixels: several halvings in one vertical line`);
  }
  assert.ok((await page.locator('[data-skip]').count()) >= 60);
  await finish(watched);
  const plain = await openReport(makeReport(), 'loss_scale');
  await plain.page.locator('[data-skip="181"]').hover();
  assert.match(
    await plain.page.innerText('.readout:visible'),
    /^step 181: scale 2¹⁴ \(16\u202f384\), skipped, first non-finite parameter fc2\.weight, 0 clean steps/,
  );
  assert.equal(await plain.page.locator('[data-skip]').count(), 4);
  assert.match(
    await panelText(plain.page, 'loss_scale'),
    /3 consecutive skipped steps from step 0, first non-finite parameter fc2\.weight/,
  );
  assert.match(await panelText(plain.page, 'loss_scale'), /1 skipped step at step 181/);
  await finish(plain);
});

test('memory shows the saving by cause, and a negative one as what it is', async () => {
  const saved = await openReport(makeReport(), 'memory');
  assert.match(await panelText(saved.page, 'memory'), /saved 18\.5 MiB \(32\.5 %\)/);
  assert.equal(await saved.page.locator('[data-line=actual]').count(), 1);
  assert.equal(await saved.page.locator('[data-line=fp32]').count(), 1);
  const chart = saved.page.locator('.chart', { has: saved.page.locator('[data-line=actual]') });
  await chart.hover({ position: { x: 83, y: 60 } });
  assert.match(await saved.page.innerText('.readout:visible'), /: 14\.0 MiB, in float32 12\.0 MiB$/);
  await finish(saved);
  const cost = await openReport(collapseReport(), 'memory');
  const text = await panelText(cost.page, 'memory');
  assert.match(text, /cost 32\.0 MiB \(47\.1 %\) more than float32 would have needed/);
  assert.match(text, /the saving is negative, −32\.0 MiB/);
  assert.match(await cost.page.locator('tr', { hasText: 'cast cache' }).innerText(), /−34\.0 MiB/);
  await cost.page.click('#tab-overview');
  assert.match(await cost.page.locator('[data-answer=memory]').innerText(), /the saving is negative/);
  await finish(cost);
});

test('every step of the run is a bar, and a long run is bundled to the width there is', async () => {
  const report = makeReport();
  report.steps[7].dur_ns = null;
  const watched = await openReport(report, 'timeline');
  const bars = watched.page.locator('svg [data-step]');
  assert.equal(await bars.count(), 299, 'the step without an end has no bar');
  assert.match(
    (await bars.nth(0).locator('title').textContent()) ?? '',
    /step 0: 30\.0 ms, ops 26\.0 ms, casts 500 µs/,
  );
  assert.equal(await watched.page.locator('svg [data-step] circle').count(), 4, 'sampled steps are marked');
  await finish(watched);
  report.steps = Array.from({ length: 5000 }, (_, i) => ({
    ...report.steps[0],
    step: i,
    dur_ns: i === 4321 ? 9e8 : 3e7,
  }));
  const long = await openReport(report, 'timeline');
  const count = await long.page.locator('svg [data-step]').count();
  assert.ok(count > 300 && count < 1500, `${count} bars`);
  assert.equal(await long.page.locator('svg [data-step] text').count(), 1, 'the slow one stands out as cut off');
  await finish(long);
});

test('the timeline draws, zooms and moves by wheel, drag and keyboard, and tells what lies under the pointer', async () => {
  const watched = await openReport(makeReport(), 'timeline');
  const { page } = watched;
  const shown = () => page.innerText('#timeline-range');
  await page.waitForTimeout(100);
  const canvas = page.locator('.timeline canvas');
  const box = await canvas.boundingBox();
  assert.ok(box);
  if (!box) return;
  const whole = await shown();
  const first = await picture(page);
  await page.mouse.move(box.x + 200, box.y + 80);
  await page.mouse.wheel(0, -300);
  await page.waitForTimeout(100);
  assert.notEqual(await shown(), whole, 'the wheel zooms');
  assert.notEqual(await picture(page), first, 'the picture follows');
  const zoomed = await shown();
  await page.mouse.down();
  await page.mouse.move(box.x + 40, box.y + 80, { steps: 4 });
  await page.mouse.up();
  assert.notEqual(await shown(), zoomed, 'dragging moves');
  await canvas.focus();
  await page.keyboard.press('0');
  assert.equal(await shown(), whole, '0 shows all');
  await page.keyboard.press('+');
  assert.notEqual(await shown(), whole);
  const before = await shown();
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await shown(), before);
  await page.keyboard.press('0');
  await page.selectOption('#timeline-step', '2');
  assert.match(await shown(), /from \d/);
  await page.keyboard.press('Escape');
  await page.mouse.move(box.x + box.width / 2, box.y + 54);
  assert.match(await page.innerText('.tooltip'), /step 2/);
  await page.mouse.click(box.x + box.width / 2, box.y + 73);
  assert.match(await page.innerText('.details'), /float16|float32/);
  assert.match(await page.innerText('.details'), /because:/);
  await finish(watched);
});
