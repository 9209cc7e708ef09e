import { isAbsolute, relative } from 'node:path';

/** Characters that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word, quoted for the shell of the platform. Every start loads this file, so it imports no schema. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return /^[\w@%+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  return PLAIN.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A path that opens from a folder: relative within it, otherwise unchanged. */
export function pathFrom(folder: string, path: string): string {
  if (!isAbsolute(path)) return path;
  const inside = relative(folder, path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}
