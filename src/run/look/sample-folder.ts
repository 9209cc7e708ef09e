import { Readable } from 'node:stream';
import { StateError } from '../../model/errors.ts';
import type { RunFolder } from '../../state/artifacts.ts';

/** What a file of a sample holds. */
export interface SampledFile {
  readonly bytes: Buffer;
  /** Whether the file goes on behind it. */
  readonly cut: boolean;
}

/** A folder in memory that keeps the beginnings of files, to look at a source before there is a run. */
export class SampleFolder implements RunFolder {
  readonly location = 'memory';
  readonly #files = new Map<string, SampledFile>();
  readonly #mostBytes: number;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  async write(
    name: string,
    content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  ): Promise<number> {
    const chunks: Buffer[] = [];
    let size = 0;
    let cut = false;
    for await (const chunk of content) {
      if (size >= this.#mostBytes) {
        cut = true;
        break;
      }
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
    }
    this.#files.set(name, { bytes: Buffer.concat(chunks), cut });
    return size;
  }

  /** What was kept of a file; StateError when nothing was. */
  sampled(name: string): SampledFile {
    const file = this.#files.get(name);
    if (file === undefined) throw new StateError(`The sample has no file ${name}.`);
    return file;
  }

  async read(name: string): Promise<Readable> {
    return Readable.from([this.sampled(name).bytes]);
  }

  async exists(name: string): Promise<boolean> {
    return this.#files.has(name);
  }

  async list(): Promise<readonly string[]> {
    return [...this.#files.keys()].sort();
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) this.#files.delete(name);
  }
}
