import type { Logger } from 'pino';
import pino from 'pino';
import type { StoreListener } from '../../run/run-context.ts';
import type { SecretRedactor } from '../../text/mask-personal-data.ts';
import type { Terminal } from '../terminal.ts';

/** Slower answers are logged at info. */
const SLOW_MS = 10_000;

/**
 * Logs the traffic between this process and its stores: one line per request at level debug, failed and slow requests
 * at info, and trouble of the store as warnings, its recovery at info.
 */
export function logStoreTraffic(log: Logger): StoreListener {
  return {
    onEvent(store, { kind, ...details }) {
      switch (kind) {
        case 'breaker-opened':
          return log.warn(
            { store, ...details },
            'the store fails: probing it once per second until it recovers',
          );
        case 'breaker-closed':
          return log.info({ store, ...details }, 'the store answers again');
        case 'paused':
          return log.warn({ store, ...details }, 'the store asks to wait');
        case 'rate-limited':
          return log.warn({ store, ...details }, 'the store limits requests (429)');
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

/** JSON lines on standard error. Secrets are removed everywhere. */
export function workerLogger(
  { err }: Pick<Terminal, 'err'>,
  { redact }: Pick<SecretRedactor, 'redact'>,
): Logger {
  return pino(
    { level: 'info', base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => err(redact(line)) },
  );
}

/** How many logged warnings are remembered. */
const MAX_REMEMBERED = 100;

/** Replaces `console.warn`: logs each warning of a library as JSON, and repeats one only after 100 others. */
export function logWarningsOfLibraries(log: Pick<Logger, 'warn'>): void {
  const logged = new Set<unknown>();
  console.warn = (message: unknown) => {
    if (logged.has(message)) return;
    if (logged.size >= MAX_REMEMBERED) logged.clear();
    logged.add(message);
    log.warn({}, String(message));
  };
}
