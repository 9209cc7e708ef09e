import { requestsWaitText, stateLossText } from '../report/run-document.ts';
import { formatProgress, ProgressMeter, progressLine } from '../report/status-words.ts';
import type { ProgressEvent, RunEvent, StoreListener } from '../run/run-context.ts';
import { counted, formatDuration, grouped, printable } from '../text/printable.ts';
import type { Terminal } from './terminal.ts';

const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 5_000;
const ERASE_LINE = '\r\u001b[2K';

/** What the other run does. */
const OCCUPIED = {
  store: 'writes to the same store',
  destination: 'writes the same file',
  plan: 'plans the same job',
} as const;

/** Longer waits are explained. */
const LONG_PAUSE_MS = 5_000;

/** Shows the progress of a run: a bar on a terminal, lines elsewhere. */
export interface RunWatch {
  readonly onEvent: (event: RunEvent) => void;
  /** Explains waits. */
  readonly onStoreEvent: StoreListener['onEvent'];
  /** Erases the bar before other output. */
  clear(): void;
}

/** Watches one run; `clock` gives milliseconds and never goes back. */
export function watchRun(terminal: Terminal, clock: () => number): RunWatch {
  let drawn = false;
  let shownAt = clock();
  const meter = new ProgressMeter();

  const clear = () => {
    if (drawn) terminal.err(ERASE_LINE);
    drawn = false;
  };
  const line = (text: string) => {
    clear();
    terminal.err(`${text}\n`);
  };
  const progress = (event: ProgressEvent) => {
    const now = clock();
    const speed = meter.measure(event, now);
    if (now - shownAt < (terminal.interactive ? BAR_EVERY_MS : LINE_EVERY_MS)) return;
    shownAt = now;
    const shown = { ...event, ...speed };
    if (!terminal.interactive) {
      line(progressLine(shown));
      return;
    }
    terminal.err(`${ERASE_LINE}${formatProgress(shown, terminal.width - 1)}`);
    drawn = true;
  };

  return {
    clear,
    onStoreEvent(store, event) {
      const text = storeText(store, event);
      if (text !== null) line(text);
    },
    onEvent(event) {
      switch (event.type) {
        case 'waiting': {
          const { heldBy } = event;
          line(
            `Waiting for ${heldBy === null ? 'another process' : `run ${heldBy.run} of ${heldBy.job}`}, which ${OCCUPIED[event.needs]}.`,
          );
          break;
        }
        case 'waiting-for-requests':
          // Requests that wait do not count for the rate.
          meter.pauseUntil(clock() + event.ms);
          line(requestsWaitText(event.operations, event.ms));
          break;
        case 'state-loss':
          line(`Warning: ${stateLossText(event.loss)}`);
          break;
        case 'begun':
          line(
            `${event.continued ? 'Continuing run' : 'Run'} ${event.run.id} of ${event.run.job}, store ${event.run.store}.`,
          );
          break;
        case 'sampled':
          line(sampledText(event));
          break;
        case 'touching':
          line(touchingText(event));
          break;
        case 'wave':
          line(waveText(event));
          break;
        case 'changed-since-plan':
          line(event.text);
          break;
        case 'not-notified':
          line(`Warning: ${event.host} could not be notified of the end of the run: ${event.problem}.`);
          break;
        case 'report-not-written':
          line(`Warning: the report of the run could not be written: ${event.problem}`);
          break;
        case 'progress':
          progress(event);
          break;
        default:
          event satisfies never;
      }
    },
  };
}

/** Announces what a verification will send. */
function touchingText({ run, records }: Extract<RunEvent, { type: 'touching' }>) {
  return run.resource === 'contacts'
    ? `Asks the store ${run.store} for ${counted(records, 'contact')} by updates without fields. The store may do what it does after any update, such as start an automation.`
    : `Asks the store ${run.store} for ${counted(records, 'product')} by updates with the title alone: a title that was edited there by hand is overwritten, and a product that was deleted there exists for a moment, until it is removed again by its id.`;
}

function sampledText({ run, records, known }: Extract<RunEvent, { type: 'sampled' }>) {
  const [resourceNoun, effect] =
    run.resource === 'contacts'
      ? ['contact', '']
      : ['product', ', and products that were deleted there are created again'];
  return `Sends ${grouped(records)} of ${counted(known, `known ${resourceNoun}`)} to the store ${run.store} again, as last acknowledged: ${counted(records, 'request')}. Edits made in the store since are overwritten${effect}.`;
}

/** The line about a wave that was sent; if it exceeds a limit, the error of the run says which. */
function waveText({ number, of, wave, resource }: Extract<RunEvent, { type: 'wave' }>) {
  const sent = counted(wave.records, resource === 'contacts' ? 'contact' : 'product');
  return `Wave ${number} of ${of}: ${sent} sent, ${wave.stop === null ? 'within the limits' : 'not within the limits'}.`;
}

/** Why the run waits, and when it continues; null for short waits. */
function storeText(...[store, event]: Parameters<StoreListener['onEvent']>) {
  switch (event.kind) {
    case 'breaker-opened':
      return `The store ${store} fails (${printable(event.reason)}): Storeferry probes it once per second until it recovers.`;
    case 'breaker-closed':
      return `The store ${store} answers again after ${formatDuration(event.openForMs)}.`;
    case 'paused':
      return event.forMs < LONG_PAUSE_MS
        ? null
        : `The store ${store} asks to wait for ${formatDuration(event.forMs)}.`;
    case 'rate-limited':
      return null;
    default:
      return event satisfies never;
  }
}
