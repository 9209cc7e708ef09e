import pino, { type Logger } from 'pino';
import type { SecretRedactor } from '../../model/secret-redactor.ts';
import type { Terminal } from '../terminal.ts';

/** JSON lines on standard error; secrets are taken out wherever they turn up. */
export function workerLogger(terminal: Terminal, secrets: SecretRedactor): Logger {
  return pino(
    { level: 'info', base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => terminal.err(secrets.redact(line)) },
  );
}

/** So many warnings are remembered as said. */
const MOST_REMEMBERED = 100;

/** What libraries print themselves would be no JSON; each thing is said once. */
export function logWarningsOfLibraries(log: Pick<Logger, 'warn'>): void {
  const said = new Set<unknown>();
  console.warn = (message: unknown) => {
    if (said.has(message)) return;
    if (said.size >= MOST_REMEMBERED) said.clear();
    said.add(message);
    log.warn({}, String(message));
  };
}
