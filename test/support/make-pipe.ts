import { once } from 'node:events';
import { startProcess } from './processes.ts';

/** Makes a named pipe, which nobody writes: what opens it without care waits for good. */
export async function makePipe(path: string): Promise<void> {
  const [code] = await once(startProcess('mkfifo', [path]), 'exit');
  if (code !== 0) throw new Error(`mkfifo ${path} ended with ${String(code)}`);
}
