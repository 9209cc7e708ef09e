import { createHash, hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import type { BoundTable, RecordRows } from './rows.ts';

/** 22 characters of base64url hold 132 bits: no two records will ever share them by chance. */
const LENGTH = 22;

/** The digest of a text, as memos and what they are made of use it. */
export function memoDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, LENGTH);
}

/**
 * A digest of all that the mapping can read of a record: `context` (everything besides the rows), how the columns of its
 * files are bound, and the cells that the mapping uses. Of equal memos the mapping makes the same, unless it looks at
 * the clock.
 *
 * Unambiguous: first comes how many cells there are, row by row, and which of them are head and children; NUL stands
 * before every cell and in none, since `csv` refuses it.
 */
export function memoOf(context: string, { head, rows, children, childOptions }: RecordRows): string {
  let table: BoundTable | undefined;
  let shape = `${context} ${rows.length}`;
  let cells = '';
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index];
    if (row === undefined) continue;
    if (row.table !== table) {
      table = row.table;
      shape += ` ${index}:${table.digest}`;
    }
    if (row === head && index > 0) shape += ` head ${index}`;
    cells += `\0${row.cells.join('\0')}`;
  }
  if (children.length > 0) shape += ` children ${children.map((child) => rows.indexOf(child)).join()}`;
  if (childOptions !== undefined) shape += JSON.stringify(childOptions.map((options) => [...options]));
  return memoDigest(shape + cells);
}

/** The packages that decide what a mapping makes of a cell. */
const PACKAGES = ['entities', 're2js', 'sanitize-html'];

/**
 * A digest of all code that maps: this folder, the packages it uses and the runtime, whose Unicode and time zones
 * transforms go by. The version of Storeferry is not enough: a checkout gets corrections of the mapping between
 * two versions, and they must reach records whose rows have not changed. Takes about 5 ms.
 */
export function mappingCode(): string {
  const digest = createHash('sha256');
  const folder = import.meta.dirname;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (/\.[jt]s$/.test(name)) digest.update(name).update(readFileSync(join(folder, name)));
  }
  for (const name of PACKAGES) {
    const path = findPackageJSON(name, import.meta.url);
    if (path !== undefined) digest.update(readFileSync(path));
  }
  const { node, icu, unicode, tz } = process.versions;
  return digest.update(JSON.stringify([node, icu, unicode, tz])).digest('base64url');
}
