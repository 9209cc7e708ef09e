import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Processes with this text in their command line, environment or folder, but for this one; read from Linux's /proc. */
export function markedProcesses(mark: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    const at = join('/proc', pid);
    const command = orNothing(() => readFileSync(join(at, 'cmdline'), 'utf8')).replaceAll('\0', ' ');
    const environment = orNothing(() => readFileSync(join(at, 'environ'), 'utf8'));
    const folder = orNothing(() => readlinkSync(join(at, 'cwd')));
    return [command, environment, folder].some((text) => text.includes(mark)) ? [`${pid} ${command}`] : [];
  });
}

/** A process may end meanwhile, or belong to somebody else. */
function orNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
