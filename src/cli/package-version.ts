import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this package: its mappings, samples and package.json. */
export const PACKAGE_DIR = fileURLToPath(new URL('../../', import.meta.url));

/** The path of the command, for the sources and for `dist/`. */
export const MAIN = fileURLToPath(new URL(`main${extname(import.meta.url)}`, import.meta.url));

/** The version of this package, for `--version`, the User-Agent, and the digest of a run. */
export function packageVersion(): string {
  const content: unknown = JSON.parse(readFileSync(join(PACKAGE_DIR, 'package.json'), 'utf8'));
  if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version);
  throw new Error('package.json names no version.');
}
