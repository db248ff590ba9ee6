// Takes the pictures of the user guide from an HTML report in a headless Chromium.
//   node guide.js MODULES FILE FOLDER
// MODULES: the node_modules that have puppeteer-core (Apache-2.0); FOLDER: where the pictures go. Prints their names as JSON.
'use strict';
const path = require('path');

const [modules, file, folder] = process.argv.slice(2);
const puppeteer = require(path.resolve(modules, 'puppeteer-core'));
const address = `file://${path.resolve(file).split('/').map(encodeURIComponent).join('/')}`;
const executablePath = process.env.HEAPLENS_CHROMIUM || '/usr/bin/chromium';

// Each picture is one part of the page, from its top, at most so high.
const MARGIN = 16;
const PARTS = { findings: 900, time: 640, flame: 640, ledger: 640 };

(async () => {
  const browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage();
  await page.setViewport({ width: 900, height: 900 });
  await page.goto(address, { waitUntil: 'load' });
  const made = [];
  for (const [part, most] of Object.entries(PARTS)) {
    const { x, y, width, height } = await page.$eval(`#${part}`, (section) => {
      const { left, top, width: wide, height: high } = section.getBoundingClientRect();
      return { x: left + window.scrollX, y: top + window.scrollY, width: wide, height: high };
    });
    const clip = { x: x - MARGIN, y: y - MARGIN, width: width + 2 * MARGIN, height: Math.min(height, most) + 2 * MARGIN };
    await page.screenshot({ path: path.join(folder, `${part}.png`), clip, captureBeyondViewport: true });
    made.push(`${part}.png`);
  }
  const height = await page.$eval('#findings', (section) => section.getBoundingClientRect().top + window.scrollY);
  const clip = { x: 0, y: 0, width: 900, height };
  await page.screenshot({ path: path.join(folder, 'verdict.png'), clip });
  await browser.close();
  console.log(JSON.stringify([...made, 'verdict.png'].sort()));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
