import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * `npm pack` calls this before it packs (`trim`) and afterwards (`restore`). The packages that package.json names are
 * bundled into dist/, so the packed manifest names none: an installation would fetch them all again.
 */
const MANIFEST = 'package.json';
/** The whole manifest while the trimmed one stands in its place. One that an interrupted `npm pack` left is restored first. */
const KEPT = '.package.json.kept';

const [step] = process.argv.slice(2);
if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
if (step === 'trim') {
  const text = readFileSync(MANIFEST, 'utf8');
  const { dependencies, devDependencies, overrides, ...packed } = JSON.parse(text);
  writeFileSync(KEPT, text);
  writeFileSync(MANIFEST, `${JSON.stringify(packed, null, 2)}\n`);
} else if (step !== 'restore') {
  throw new Error(`Expected trim or restore, found: ${step}`);
}
