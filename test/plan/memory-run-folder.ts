import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { StateError } from '../../src/model/storeferry-error.ts';
import type { RunFolder } from '../../src/state/artifacts.ts';

/** A run folder in memory: whole files or none, as the real ones. */
export class MemoryRunFolder implements RunFolder {
  readonly location = 'memory';
  readonly files = new Map<string, Buffer>();
  /** Names in the order in which their files became whole. */
  readonly writes: string[] = [];
  /** Set to make writing a file of that name fail. */
  failOn: string | undefined;

  async write(
    name: string,
    content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  ): Promise<number> {
    const bytes = await buffer(
      Readable.from(content).map((chunk: Uint8Array | string) => Buffer.from(chunk)),
    );
    if (name === this.failOn) throw new StateError('the disk is full');
    this.files.set(name, bytes);
    this.writes.push(name);
    return bytes.length;
  }

  async read(name: string): Promise<Readable> {
    const bytes = this.files.get(name);
    if (bytes === undefined) throw new StateError(`${name} is absent`);
    return Readable.from([bytes]);
  }

  async exists(name: string): Promise<boolean> {
    return this.files.has(name);
  }

  async list(): Promise<readonly string[]> {
    return [...this.files.keys()].sort();
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) this.files.delete(name);
  }
}
