'use strict';

/**
 * Refuses a Node that is older than package.json asks for, in one sentence and before anything else is loaded: as the first
 * import of main.ts, and before npm's scripts, since an older one cannot even read main.ts. Written for Node of any age.
 *
 * The first of Node 24 are too old as well. They do not fail: their node:sqlite ignores options that it does not know
 * (`returnArrays`, before 24.14), cuts texts off at a NUL (before 24.16), and the ledger would mean something else.
 */
const numbers = (version) => /(\d+)(?:\.(\d+))?/.exec(version).slice(1).map(Number);
const wanted = numbers(require('../../package.json').engines.node);
const found = numbers(process.versions.node);
if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  process.stderr.write(
    `Storeferry needs Node.js ${wanted.join('.')} or later, and this is Node.js ${process.versions.node} (${process.execPath}): ` +
      `install the latest Node.js ${wanted[0]}, or put its folder first on the PATH, then run the command again.\n`,
  );
  process.exit(2);
}
