import { Readable } from 'node:stream';
import { StateError } from '../../../src/model/storeferry-error.ts';
import type { Artifacts, RunFolder } from '../../../src/state/artifacts.ts';

type Folders = Map<string, Map<string, Buffer>>;

/** Artifacts in memory, as one process sees them: `strike` is called before and after each write, and may end the process. */
export function smallArtifacts(folders: Folders, strike: (what: string) => void): Artifacts {
  return {
    run: (id) => smallFolder(folders, id, strike),
    async remove(id) {
      folders.delete(id);
    },
  };
}

function smallFolder(folders: Folders, id: string, strike: (what: string) => void): RunFolder {
  const files = (): Map<string, Buffer> => folders.get(id) ?? new Map();
  return {
    location: id,
    async write(name, content) {
      strike(`write ${id}`);
      const chunks: Buffer[] = [];
      for await (const chunk of content) chunks.push(Buffer.from(chunk));
      const bytes = Buffer.concat(chunks);
      folders.set(id, files().set(name, bytes));
      strike(`written ${id}`);
      return bytes.length;
    },
    async read(name) {
      const bytes = files().get(name);
      if (bytes === undefined) throw new StateError(`${id}/${name} is gone`);
      return Readable.from([bytes]);
    },
    exists: async (name) => files().has(name),
    list: async () => [...files().keys()].sort(),
    async remove(names) {
      for (const name of names) files().delete(name);
    },
  };
}
