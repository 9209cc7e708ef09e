import { homedir } from 'node:os';
import { resolve } from 'node:path';

/**
 * A path as people type it, or drop it onto a terminal: quotes and backslashes before blanks are the shell's and no
 * part of it, `~` is the home folder, and it is relative to the folder they are in.
 */
export function typedPath(
  text: string,
  { cwd = process.cwd(), home = homedir(), windows = process.platform === 'win32' } = {},
): string {
  const trimmed = text.trim();
  const quoted = /^(['"])(.+)\1$/s.exec(trimmed)?.[2];
  const plain = quoted ?? (windows ? trimmed : trimmed.replaceAll(/\\([^\w/])/g, '$1'));
  const whole = /^~(?=$|[/\\])/.test(plain) && quoted === undefined ? home + plain.slice(1) : plain;
  return resolve(cwd, whole);
}
