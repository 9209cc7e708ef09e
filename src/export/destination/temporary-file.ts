import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isAbandoned } from '../../state/file-access.ts';

/** Those that this process is writing. */
const underWay = new Set<string>();

/** A name beside the file, for what is not whole yet; it says which process writes it. */
export function temporaryBeside(path: string): string {
  const temporary = join(
    dirname(path),
    `.${basename(path)}.${hostTag()}-${process.pid}-${randomUUID().slice(0, 8)}.tmp`,
  );
  underWay.add(temporary);
  return temporary;
}

/** Removes a temporary file, if it is still there. */
export async function discardTemporary(temporary: string): Promise<void> {
  underWay.delete(temporary);
  await rm(temporary, { force: true }).catch(() => {});
}

/** Removes the temporary files of processes that died; those of running processes stay. */
export async function sweepTemporaries(path: string): Promise<void> {
  const folder = dirname(path);
  const start = `.${basename(path)}.`;
  for (const name of await readdir(folder).catch(() => [])) {
    const [, host, pid] = /^([^-]+)-(\d+)-[0-9a-f]{8}\.tmp$/.exec(name.slice(start.length)) ?? [];
    if (!name.startsWith(start) || host === undefined) continue;
    const temporary = join(folder, name);
    if (underWay.has(temporary)) continue;
    const abandoned = host === hostTag() ? !isAlive(Number(pid)) : await isAbandoned(temporary);
    if (abandoned) await rm(temporary, { force: true }).catch(() => {});
  }
}

function hostTag(): string {
  return (
    hostname()
      .replaceAll(/[^A-Za-z0-9]/g, '_')
      .slice(0, 32) || 'host'
  );
}

/** A process of this number; ours is one that has taken the number of a dead one, unless it knows the file. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
