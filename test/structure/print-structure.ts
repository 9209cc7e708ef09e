import { writeFileSync } from 'node:fs';
import { BOUNDS_FILE } from './bounds.ts';
import { boundsOf, measureStructure } from './structure.ts';

// `npm run structure`: the figures of src/; with --write they become what may not get worse, with --list names too.
const structure = measureStructure();
const { files, lines, journeys } = structure;
const lists = {
  'reached from outside their folder': structure.reachedFromOutside,
  'with one importer only': structure.withOneImporter,
  'imported by their registry only': structure.entriesOfRegistries,
  'that export nothing of their own name': structure.withoutOwnName,
  'base names that occur twice': structure.repeatedNames,
};
console.log(`files ${files}, lines ${lines}`);
for (const [name, found] of Object.entries(lists)) {
  console.log(`${name}: ${found.length}`);
  if (process.argv.includes('--list')) for (const file of found) console.log(`  ${file}`);
}
for (const { name, files: opened } of journeys) console.log(`files of ${name}: ${opened.length}`);
if (process.argv.includes('--write')) {
  const lines = Object.entries(boundsOf(structure)).map(
    ([name, figures]) => `  ${JSON.stringify(name)}: [${figures.join(', ')}]`,
  );
  writeFileSync(BOUNDS_FILE, `{\n${lines.join(',\n')}\n}\n`);
}
