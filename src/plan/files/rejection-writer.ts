import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { PlannedRejection } from '../../model/plan.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { rejectionLine } from './rejection-line.ts';

/** Where the rejections of a plan stand in the folder of its run. */
export const REJECTIONS_FILE = 'rejections.jsonl';

/** Streams rejections to their file as they are found: a source may well be rejected in every one of its rows. */
export class RejectionWriter {
  readonly #lines = new PassThrough();
  readonly #written: Promise<number>;

  constructor(folder: RunFolder) {
    this.#written = folder.write(REJECTIONS_FILE, this.#lines);
    this.#written.catch((error: unknown) => this.#lines.destroy(error instanceof Error ? error : undefined));
    this.#lines.on('error', () => {}); // `room()` and `finish()` tell it by the folder's own error
  }

  /** Whether `room()` should be awaited before taking more. */
  get full(): boolean {
    return this.#lines.writableNeedDrain;
  }

  /** Takes a rejection. */
  add(rejection: PlannedRejection): void {
    this.#lines.write(rejectionLine(rejection));
  }

  /** Waits while more is in memory than the disk has taken. */
  async room(): Promise<void> {
    if (this.full) await Promise.race([once(this.#lines, 'drain'), this.#written]);
  }

  /** Resolves when the file is whole on disk. */
  async finish(): Promise<void> {
    this.#lines.end();
    await this.#written;
  }

  /** Leaves no file. */
  async abandon(): Promise<void> {
    this.#lines.destroy(new Error('the plan was given up'));
    await this.#written.catch(() => {});
  }
}
