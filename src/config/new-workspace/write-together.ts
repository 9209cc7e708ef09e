import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../../model/errors.ts';

/** A file that is to be there afterwards, whole. */
export interface NewFile {
  /** An absolute path. */
  readonly path: string;
  readonly content: { readonly text: string } | { readonly copyOf: string };
  /** Permissions; those of the user's other files when left out. */
  readonly mode?: number | undefined;
  /** `add` puts the text behind what the file holds, if there is one; else a file that is there is an error. */
  readonly existing: 'refuse' | 'add';
}

/**
 * Writes files together: all of them, or none. What is there is never overwritten; UsageError when something has
 * appeared meanwhile. Nothing can interrupt it but the death of the process, since it gives up the thread to nobody.
 */
export function writeTogether(files: readonly NewFile[]): void {
  const undo: (() => void)[] = [];
  try {
    const prepared = files.map((file) => prepare(file, undo));
    for (const commit of prepared) commit();
  } catch (error) {
    for (const step of undo.reverse()) step();
    throw error;
  }
  // What was prepared has its place now.
  for (const file of files) rmSync(temporaryOf(file.path), { force: true });
}

const MARK = randomUUID();

function temporaryOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${MARK}.tmp`);
}

/** Writes the content beside its place, and gives what puts it there. */
function prepare({ path, content, mode, existing }: NewFile, undo: (() => void)[]): () => void {
  makeFolder(dirname(path), undo);
  const temporary = temporaryOf(path);
  undo.push(() => rmSync(temporary, { force: true }));
  const before = existsSync(path) ? readFileSync(path) : null;
  if (before !== null && existing === 'refuse') throw appeared(path);
  if ('copyOf' in content) {
    copyFileSync(content.copyOf, temporary, constants.COPYFILE_EXCL);
  } else {
    const kept = before === null ? mode : statSync(path).mode & 0o777 & (mode ?? 0o777);
    writeFileSync(temporary, Buffer.concat([before ?? Buffer.alloc(0), Buffer.from(content.text)]), {
      flag: 'wx',
      ...(kept === undefined ? {} : { mode: kept }),
    });
  }
  sync(temporary);
  return () => {
    if (before === null) {
      putNew(temporary, path);
      undo.push(() => rmSync(path, { force: true }));
      return;
    }
    renameSync(temporary, path);
    undo.push(() => writeFileSync(path, before));
  };
}

function makeFolder(path: string, undo: (() => void)[]): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  undo.push(() => {
    for (let folder = path; folder.length >= first.length; folder = dirname(folder)) removeIfEmpty(folder);
  });
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody else has put something there.
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A link refuses to replace anything, which a rename does not; file systems without links take a copy. */
function putNew(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') throw appeared(path);
    copyFileSync(temporary, path, constants.COPYFILE_EXCL);
  }
}

function appeared(path: string): UsageError {
  return new UsageError(`${path} is there already, and nothing is overwritten.`, {
    hint: 'Choose another name, or move the file away.',
  });
}
