import { isAbsolute, normalize, relative, sep } from 'node:path';
import { z } from 'zod';

/** Characters that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word, quoted for the shell of the platform. */
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

/** Whether a written path stays inside its base folder; an absolute path is the owner's own choice. */
export function staysInside(path: string): boolean {
  return isAbsolute(path) || !normalize(path).split(sep).includes('..');
}

/** A path as written in a job: relative to the workspace and inside it, or absolute. */
export const workspacePathSchema = z
  .string('expected a path')
  .trim()
  .min(1, 'expected a path')
  .refine(staysInside, 'expected a path inside the workspace (outside it, give the absolute path)');
