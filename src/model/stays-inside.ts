import { isAbsolute, normalize, sep } from 'node:path';
import { z } from 'zod';

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
