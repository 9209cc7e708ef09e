import type { Logger } from 'pino';
import pino from 'pino';
import type { SecretRedactor } from '../../model/secret-redactor.ts';
import type { StoreListener } from '../../run/store-clients.ts';
import type { Terminal } from '../terminal.ts';

/** An answer that takes longer is worth a line of its own. */
const SLOW_MS = 10_000;

/**
 * Logs what happens between this process and its stores: a line a request at the level debug, failed and slow ones
 * at info, and what the store's health does to all of them as a warning.
 */
export function logStoreTraffic(log: Logger): StoreListener {
  return {
    onEvent(store, { kind, ...details }) {
      switch (kind) {
        case 'breaker-opened':
          return log.warn({ store, ...details }, 'the store fails: it is only probed until it answers again');
        case 'breaker-closed':
          return log.info({ store, ...details }, 'the store answers again');
        case 'paused':
          return log.warn({ store, ...details }, 'the store asks to wait');
        case 'rate-limited':
          return log.warn({ store, ...details }, 'the store says that it is too much');
        default:
          return kind satisfies never;
      }
    },
    onAttempt(store, { about: run, durationMs, ...attempt }) {
      const failed = attempt.failure !== null;
      const level = failed || durationMs >= SLOW_MS ? 'info' : 'debug';
      if (!log.isLevelEnabled(level)) return;
      const line = { store, run, ...attempt, durationMs: Math.round(durationMs) };
      log[level](line, failed ? 'request failed' : 'request');
    },
  };
}

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
