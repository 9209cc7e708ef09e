import type { RunStatus } from '../../model/run.ts';
import type { Tone } from '../document.ts';
import { sentence } from './words.ts';

/** A status as the beginning of a sentence that goes on with a time. */
export function statusWords(status: RunStatus): string {
  switch (status) {
    case 'running':
      return 'running';
    case 'planned':
      return 'planned, nothing sent,';
    case 'done':
      return 'done';
    case 'done-with-rejects':
      return 'done, with rejects,';
    case 'stopped':
      return 'stopped by a safety limit';
    case 'failed':
      return 'failed';
    case 'interrupted':
      return 'interrupted';
    case 'superseded':
      return 'superseded by a later run';
    default:
      return status satisfies never;
  }
}

/** A status by itself: `Done, with rejects`. */
export function statusLabel(status: RunStatus): string {
  return sentence(statusWords(status).replace(/,$/, ''));
}

/** How a status stands out. */
export function statusTone(status: RunStatus): Tone {
  switch (status) {
    case 'done':
      return 'good';
    case 'done-with-rejects':
    case 'stopped':
    case 'interrupted':
      return 'warning';
    case 'failed':
      return 'bad';
    case 'running':
    case 'planned':
      return 'strong';
    case 'superseded':
      return 'quiet';
    default:
      return status satisfies never;
  }
}
