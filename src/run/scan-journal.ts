import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeWhole } from '../config/edit-file.ts';
import { parsedJson } from '../model/json-object.ts';

const STATE_FOLDER = '.storeferry';
const PREFIX = 'contacts-scan-';
const SUFFIX = '.jsonl';

/** The e-mail address of a contact; null where there is no contact with the id, '' for one without an address. */
export type Found = string | null;

/** The results of a scan that has not ended, on disk before the next request of its slot. */
export class ScanJournal {
  readonly found = new Map<number, Found>();
  readonly #path: string;

  constructor(workspaceDir: string, store: string) {
    const path = join(workspaceDir, STATE_FOLDER, `${PREFIX}${store}${SUFFIX}`);
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (!existsSync(path)) return;
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const [id, email] = lineIn(line);
      if (typeof id === 'number') this.found.set(id, typeof email === 'string' ? email : null);
    }
  }

  note(id: number, email: Found): void {
    this.found.set(id, email);
    appendFileSync(this.#path, `${JSON.stringify([id, email])}\n`, { mode: 0o600 });
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

/** The last line may be cut. */
function lineIn(line: string): readonly unknown[] {
  const entry = parsedJson(line);
  return Array.isArray(entry) ? entry : [];
}

/**
 * Removes a contact from the journals of interrupted scans of all stores, by its id and address: a scan asks again for what is
 * removed. Gives the number of removed lines.
 */
export async function forgetScanned(
  workspaceDir: string,
  isTheirs: (id: string, email: string) => boolean,
): Promise<number> {
  const folder = join(workspaceDir, STATE_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  let removed = 0;
  for (const name of names.filter((each) => each.startsWith(PREFIX) && each.endsWith(SUFFIX))) {
    const path = join(folder, name);
    const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
    const kept = lines.filter((line) => {
      const [id, email] = lineIn(line);
      return !isTheirs(String(id), String(email));
    });
    if (kept.length === lines.length) continue;
    await writeWhole(path, kept, { mode: 0o600 });
    removed += lines.length - kept.length;
  }
  return removed;
}
