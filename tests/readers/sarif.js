// Checks a SARIF log against the schema that Microsoft publishes for it, with a validator of others.
//   node sarif.js MODULES LOG       (MODULES: the node_modules that have ajv and @microsoft/jest-sarif)
'use strict';
const fs = require('fs');
const path = require('path');

const [modules, log] = process.argv.slice(2);
const from = (name) => require(path.resolve(modules, name));

const Ajv = from('ajv');
const ajv = new Ajv({ schemaId: 'auto', allErrors: true });
ajv.addMetaSchema(from('ajv/lib/refs/json-schema-draft-04.json'));
const validate = ajv.compile(from('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json'));
if (!validate(JSON.parse(fs.readFileSync(log, 'utf8')))) {
  console.error(ajv.errorsText(validate.errors, { separator: '\n' }));
  process.exit(1);
}
console.log('valid');
