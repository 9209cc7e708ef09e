import type { RunEvent } from '../run/run-context.ts';
import type { StoreListener } from '../run/store-clients.ts';
import type { OpenContext } from './open-context.ts';
import type { Terminal } from './terminal.ts';
import type { RunWatch } from './watch-run.ts';

/** What a command logs as JSON lines besides what it prints for people, where `LOG_LEVEL` is `debug` or `trace`. */
export interface DebugLog {
  readonly onEvent: (event: RunEvent) => void;
  /** To be called when the workspace is open: only then its secrets are known. */
  readonly begin: (open: OpenContext) => void;
  readonly listener: StoreListener;
}

/** The debug log of a command; undefined where `level` asks for none. A line for each request, and for each step of the run. */
export async function debugLog(
  level: string,
  job: string | null,
  terminal: Terminal,
  watch: RunWatch,
): Promise<DebugLog | undefined> {
  if (level !== 'debug' && level !== 'trace') return undefined;
  const [{ secretRedactor }, { logRunEvents }, { workerLogger }, { logStoreTraffic }] = await Promise.all([
    import('../model/secret-redactor.ts'),
    import('../queue/worker-log.ts'),
    import('./worker/worker-logger.ts'),
    import('./worker/worker-logger.ts'),
  ]);
  const secrets = secretRedactor();
  let opened: OpenContext | null = null;
  const err = (line: string): void => {
    for (const secret of opened?.workspace.secrets() ?? []) secrets.add(secret);
    watch.clear();
    terminal.err(secrets.redact(line));
  };
  const log = workerLogger({ ...terminal, err }, secrets);
  log.level = level;
  const { onEvent, onAttempt } = logStoreTraffic(log);
  let logEvent: ((event: RunEvent) => void) | null = null;
  return {
    begin(open) {
      opened = open;
    },
    onEvent(event) {
      const named = event.type === 'begun' ? event.run.job : (job ?? '');
      logEvent ??= logRunEvents(log, named, Date.now);
      logEvent(event);
    },
    listener: {
      onEvent(store, event) {
        watch.onStoreEvent(store, event);
        onEvent(store, event);
      },
      onAttempt,
    },
  };
}
