'use strict';

/**
 * Refuses a Node that is older than package.json asks for, in one sentence and before anything else is loaded: as
 * the first import of main.ts, and before npm's scripts, since an older one cannot even read main.ts. Written for Node of any
 * age: an older one fails at a name that it does not know, or, worse, ignores an option and goes on.
 */
const wanted = require('../../package.json').engines.node;
const minimum = Number(/\d+/.exec(wanted)[0]);
if (Number(/\d+/.exec(process.versions.node)[0]) < minimum) {
  process.stderr.write(
    'Storeferry needs Node.js ' +
      minimum +
      ' or later, and this is Node.js ' +
      process.versions.node +
      ' (' +
      process.execPath +
      '): install Node.js ' +
      minimum +
      ', or put its folder first on the PATH, then run the command again.\n',
  );
  process.exit(2);
}
