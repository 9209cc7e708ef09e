import { existsSync } from 'node:fs';
import { join, parse } from 'node:path';

/** The name, if necessary with a number, so that no file in the folder has it. */
export function freeName(folder: string, wanted: string): string {
  const { name, ext } = parse(wanted);
  let free = wanted;
  for (let number = 2; existsSync(join(folder, free)); number++) free = `${name}-${number}${ext}`;
  return free;
}
