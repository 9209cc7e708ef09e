import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { type PlannedRejection, rejectionSchema } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';

/** The file of a plan's rejections in the folder of its run. */
export const REJECTIONS_FILE = 'rejections.jsonl';

/** Streams lines or bytes to a file of a plan immediately, because every row of a source may be rejected, or held. */
export class LineWriter {
  readonly #lines = new PassThrough();
  readonly #written: Promise<number>;
  readonly #hash = createHash('sha256');

  constructor(folder: RunFolder, name: string) {
    this.#written = folder.write(name, this.#lines);
    this.#written.catch((error: unknown) => this.#lines.destroy(error instanceof Error ? error : undefined));
    // `room()` and `finish()` reject with the error of the folder.
    this.#lines.on('error', () => {});
  }

  /** Whether `room()` should be awaited before more lines are added. */
  get full(): boolean {
    return this.#lines.writableNeedDrain;
  }

  /** Takes a line with its line break, or bytes. */
  add(line: string | Uint8Array): void {
    this.#hash.update(line);
    this.#lines.write(line);
  }

  /** Waits while more is in memory than the disk has accepted. */
  async room(): Promise<void> {
    if (this.full) await Promise.race([once(this.#lines, 'drain'), this.#written]);
  }

  /** Returns the SHA-256 of the file, in hexadecimal, when it is complete on disk. */
  async finish(): Promise<string> {
    this.#lines.end();
    await this.#written;
    return this.#hash.digest('hex');
  }

  /** Leaves no file. */
  async abandon(): Promise<void> {
    this.#lines.destroy(new Error('the plan was given up'));
    await this.#written.catch(() => {});
  }
}

/** A rejection as a line of JSON. */
export function rejectionLine({ key, records, rows, spans, reason }: PlannedRejection): string {
  return `${JSON.stringify({ key, records, rows, spans, reason } satisfies PlannedRejection)}\n`;
}

/** The rejection of a line. Throws if the line was not made by `rejectionLine`. */
export function parseRejectionLine(line: string): PlannedRejection {
  return rejectionSchema.parse(JSON.parse(line));
}
