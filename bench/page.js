// How long headless Chromium takes to show a page and to search it: node page.js NODE_MODULES PAGE (an absolute path).
const [modules, page] = process.argv.slice(2);
const puppeteer = require(modules + '/puppeteer-core');

const painted = tab => tab.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));

async function timed(tab, words, act) {
  const start = Date.now();
  await act();
  await painted(tab);
  console.log(words, Date.now() - start, 'ms');
}

(async () => {
  const browser = await puppeteer.launch({executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], headless: true});
  const tab = await browser.newPage();
  for (let run = 0; run < 3; run++)
    await timed(tab, 'shown after', () => tab.goto('file://' + page, {waitUntil: 'load'}));
  const search = await tab.$('input[type=search]');
  await timed(tab, 'searched after', () => search.type('l'));
  await browser.close();
})();
