import { isAbsolute, relative } from 'node:path';
import type { Sample } from '../model/run.ts';

/** The default beginning of a command. */
export const PROGRAM = 'storeferry';

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

/** The options of a command that take this sample. */
export function sampleFlags({ only, limit }: Sample): string {
  const keys = only === undefined ? [] : [`--only ${shellWord(only.join(','))}`];
  return [...keys, ...(limit === undefined ? [] : [`--limit ${limit}`])].join(' ');
}
