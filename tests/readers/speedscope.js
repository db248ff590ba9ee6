// Reads a file with speedscope's own importer, and prints the total of each profile that it found as JSON.
//   node speedscope.js MODULES FILE       (MODULES: the node_modules that have speedscope)
//
// speedscope is a page for browsers: its package has no entry for programs. Its bundle keeps the importer as a module of its
// own, which is taken out here; what the page draws fails for want of a browser, and is not needed.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [modules, file] = process.argv.slice(2);
const folder = path.resolve(modules, 'speedscope/dist/release');
const bundle = (start) => {
  const name = fs.readdirSync(folder).find((name) => name.startsWith(start) && name.endsWith('.js'));
  return fs.readFileSync(path.join(folder, name), 'utf8');
};

const page = vm.createContext({ console: { ...console, log() {} }, TextDecoder, TextEncoder, Buffer, setTimeout, atob });
page.window = page;
for (const start of ['speedscope.', 'import.']) {
  try {
    vm.runInContext(bundle(start), page);
  } catch (error) {
    if (start === 'import.') throw error;
  }
}

const names = [...bundle('import.').matchAll(/"([\w+/]{4})":\[function\(require,module,exports\)/g)].map((match) => match[1]);
const importer = names.map((name) => {
  try {
    return page.parcelRequire(name);
  } catch {
    return {};
  }
}).find((module) => module.importProfileGroupFromBase64);

importer.importProfileGroupFromBase64(path.basename(file), fs.readFileSync(file).toString('base64')).then((group) => {
  const profiles = group.profiles.map((profile) => ({
    name: profile.getName(),
    unit: profile.getWeightUnit(),
    total: profile.getTotalWeight(),
  }));
  console.log(JSON.stringify({ name: group.name, profiles }));
});
