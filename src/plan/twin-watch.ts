import type { HashKey } from '../model/block-index.ts';
import { textsIn } from '../model/json-object.ts';
import { openTemporaryDatabase, orStateError } from '../state/sqlite/open-row-scratch.ts';
import { chunksOf, type Ledger } from '../state/state.ts';
import { decodedPercents } from '../text/printable.ts';
import { KeySet } from './key-set.ts';

const GROUPS_PER_QUERY = 500;

/** A url as most shops write it: its own usual spelling. The first pass does not keep it. */
const USUAL = /^[a-z0-9][a-z0-9._-]*$/;

/** A url that differs from another one of its source in spelling alone. */
interface Twin {
  /** The other one. */
  readonly of: string;
  /** The store has answered the same id for both. */
  readonly isSame: boolean;
}

/** Twins by their urls; null: the one of several that stays first. */
export type Twins = ReadonlyMap<string, Twin | null>;

/**
 * Finds urls of one source that a store may take for the same product, because they differ in case, Unicode form, percent-encoding or
 * slashes around them alone. In two passes over the source, the second only if the first finds a suspicion: so usual urls are not kept.
 * The others are in a temporary SQLite database, on disk when they are many.
 */
export class TwinWatch implements Disposable {
  readonly #hashKey: HashKey | undefined;
  #urls: ReturnType<typeof openUrls> | undefined;
  /** The usual spellings of which the first pass may have found several. */
  #suspected: KeySet | undefined;

  constructor(hashKey?: HashKey) {
    this.#hashKey = hashKey;
  }

  /** Notes the url of a record. */
  note(url: string): void {
    const isUsual = USUAL.test(url);
    if (isUsual && this.#suspected === undefined) return;
    const spelling = isUsual ? url : usualSpelling(url);
    if (this.#suspected === undefined ? spelling === url : !this.#suspected.has(spelling)) return;
    if (spelling === '') return;
    this.#urls ??= orStateError(openUrls);
    this.#urls.add(spelling, url);
  }

  /** After the first pass: the hashes of usual spellings for which the source must be read again; null if there are none. */
  suspect(seen: KeySet): KeySet | null {
    const suspected = new KeySet(this.#hashKey);
    for (const { spelling, urls } of this.#urls?.spellings() ?? [])
      if (urls > 1 || seen.has(spelling)) suspected.add(spelling, true);
    if (suspected.size === 0) return null;
    this.#suspected = suspected;
    return suspected;
  }

  /**
   * After the second: the urls whose products may overwrite another one, which stays first: the first for which the store has answered
   * the same id; of a url without an id, one that has an id, or else the one in the usual spelling, or the first in order.
   */
  async find(ledger: Pick<Ledger, 'marks'>): Promise<Twins> {
    const twins = new Map<string, Twin | null>();
    for (const groups of chunksOf(this.#urls?.groups() ?? [], GROUPS_PER_QUERY)) {
      const marks = await ledger.marks(groups.flat());
      let from = 0;
      for (const group of groups) {
        const members = group.map((url, index) => ({ url, id: marks[from + index]?.id ?? null }));
        from += group.length;
        const known = members.find(({ id }) => id !== null) ?? members[0];
        const firsts = new Map<number | null, string | undefined>([[null, known?.url]]);
        for (const { url, id } of members) {
          const of = firsts.get(id) ?? url;
          firsts.set(id, of);
          if (of !== url) twins.set(of, null).set(url, { of, isSame: id !== null });
        }
      }
    }
    return twins;
  }

  [Symbol.dispose](): void {
    this.#urls?.close();
  }
}

/** Urls by their usual spelling. */
function openUrls() {
  const database = openTemporaryDatabase(
    'CREATE TABLE urls (spelling TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (spelling, url)) WITHOUT ROWID;',
  );
  const insert = database.prepare('INSERT OR IGNORE INTO urls VALUES (?, ?)');
  const count = database.prepare('SELECT spelling, count(*) AS urls FROM urls GROUP BY spelling');
  const selectSeveral = database.prepare(
    `SELECT json_group_array(url ORDER BY url <> spelling, url) AS urls FROM urls
     GROUP BY spelling HAVING count(*) > 1`,
  );
  return {
    add: (spelling: string, url: string) => void orStateError(() => insert.run(spelling, url)),
    *spellings() {
      for (const { spelling, urls } of count.iterate())
        yield { spelling: String(spelling), urls: Number(urls) };
    },
    groups: () => selectSeveral.all().map(({ urls }) => textsIn(JSON.parse(String(urls)))),
    close: () => database.close(),
  };
}

function usualSpelling(url: string): string {
  return (decodedPercents(url) ?? url)
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/^\/+|(?<!\/)\/+$/g, '');
}
