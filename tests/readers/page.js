// Opens an HTML report in a headless Chromium, uses it as people do, and prints what was seen as JSON.
//   node page.js MODULES FILE WORDS [FOLDER]
// MODULES: the node_modules that have puppeteer-core (Apache-2.0) and axe-core (MPL-2.0); WORDS: what is searched for in the flame
// graph; FOLDER: where pictures of the page go.
'use strict';
const fs = require('fs');
const path = require('path');

const [modules, file, words, folder] = process.argv.slice(2);
const puppeteer = require(path.resolve(modules, 'puppeteer-core'));
const axe = fs.readFileSync(path.resolve(modules, 'axe-core/axe.min.js'), 'utf8');
const address = `file://${path.resolve(file).split('/').map(encodeURIComponent).join('/')}`;

// What the page and the browser say that nobody asked for.
function listen(page) {
  const said = { console: [], errors: [], dialogs: [], requests: [] };
  page.on('console', (message) => said.console.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.errors.push(String(error)));
  page.on('dialog', (dialog) => {
    said.dialogs.push(dialog.message());
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url() !== address) said.requests.push(request.url());
  });
  return said;
}

// Exact bytes, by what they are of.
const bytes = (page) => page.evaluate(() => {
  const values = (part) => [...part.querySelectorAll('data')].map((data) => Number(data.value));
  const all = (name) => Object.fromEntries([...document.querySelectorAll(`[data-${name}]`)]
    .map((part) => [part.dataset[name], values(part)]));
  const { total } = JSON.parse(document.getElementById('data').textContent).flame;
  return { figures: all('figure'), ledger: all('line'), lost: all('lost'), flame: total };
});

const said = (page) => page.$eval('#flame-said', (part) => part.textContent);
const boxes = (page) => page.$$eval('.box', (all) => all.map((box) => ({
  label: box.getAttribute('aria-label'),
  level: Number(box.getAttribute('aria-level')),
  classes: box.className,
})));

async function flame(page) {
  const seen = { values: {} };
  for (const value of await page.$$eval('#flame-value option', (all) => all.map((one) => one.value))) {
    await page.select('#flame-value', value);
    seen.values[value] = await said(page);
  }
  await page.select('#flame-value', '0');
  seen.whole = await boxes(page);
  await page.type('#flame-search', words);
  seen.found = await said(page);
  seen.hits = (await boxes(page)).filter((box) => box.classes.includes('hit'));
  if (seen.hits.length) {
    await page.$eval('.box.hit', (box) => box.focus());
    await page.keyboard.press('Enter');
    seen.zoomed = await boxes(page);
    seen.details = await page.$eval('#flame-frame', (part) => part.textContent);
    await page.keyboard.press('Escape');
  }
  seen.back = (await boxes(page)).length;
  await page.$eval('#flame-search', (input) => {
    input.value = '';
    input.dispatchEvent(new Event('input'));
  });
  await page.click('#flame-reverse');
  seen.reversed = await boxes(page);
  await page.click('#flame-reverse');
  if (await page.$('#flame-language')) {
    for (const language of ['python', 'native', 'mixed']) {
      await page.select('#flame-language', language);
      seen[language] = await boxes(page);
    }
  }
  return seen;
}

async function time(page) {
  const chart = await page.$('#chart');
  if (!chart) return null;
  const now = () => page.$eval('#chart', (part) => part.getAttribute('aria-valuetext'));
  await chart.focus();
  const last = await now();
  await page.keyboard.press('Home');
  const first = await now();
  await page.keyboard.press('End');
  const shapes = await page.$$eval('#chart .area, #chart .reading', (all) => all.length);
  return { first, last, again: await now(), shapes };
}

// Rules of axe that the page does not keep, in the colours of the moment.
const broken = (page) => page.evaluate(async () => {
  const { violations } = await axe.run();
  return violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
});

async function picture(page, name, width) {
  await page.setViewport({ width, height: 900 });
  // Drawings follow the window with the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
  if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  return wide;
}

(async () => {
  const browser = await puppeteer.launch({ executablePath: process.env.HEAPLENS_CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage();
  await page.setViewport({ width: 1200, height: 900 });
  const heard = listen(page);
  await page.goto(address, { waitUntil: 'load' });
  const seen = { bytes: await bytes(page), time: await time(page) };
  seen.text = await page.evaluate(() => document.body.innerText);
  seen.title = await page.title();
  if (await page.$('#flame-graph')) seen.flame = await flame(page);
  seen.elements = await page.evaluate(() => ({
    scripts: document.scripts.length,
    images: document.images.length,
    frames: document.querySelectorAll('iframe, object, embed, link').length,
    ran: window.ran === undefined ? null : String(window.ran),
  }));
  seen.wide = await picture(page, 'light', 1200);
  seen.narrow = await picture(page, 'narrow', 400);
  await page.evaluate(axe);
  seen.broken = { light: await broken(page) };
  await page.click('#theme');
  seen.theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await picture(page, 'dark', 1200);
  seen.broken.dark = await broken(page);
  await browser.close();
  console.log(JSON.stringify({ ...seen, heard }));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
