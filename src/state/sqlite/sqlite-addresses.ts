import type { DatabaseSync } from 'node:sqlite';
import { type AddressCheck, type AddressToRemember, FORGOTTEN_MS } from '../state.ts';
import { inTransaction } from './open-state-database.ts';
import { integer, textOrNull } from './sqlite-error.ts';

/** The calls of the database thread for image addresses that were found good. Addresses arrive as `keysJson`. */
export interface SqliteAddresses {
  findAddresses(addresses: string, count: number): (AddressCheck | undefined)[];
  rememberAddresses(checks: readonly AddressToRemember[], at: number): void;
}

/** The calls on an open database. */
export function createSqliteAddresses(database: DatabaseSync): SqliteAddresses {
  const select = database.prepare(
    `SELECT wanted.key AS place, version, at FROM json_each(?) AS wanted
     CROSS JOIN checked_addresses WHERE address = wanted.value`,
  );
  const insert = database.prepare(
    `INSERT INTO checked_addresses (address, version, at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, at = excluded.at`,
  );
  const forget = database.prepare('DELETE FROM checked_addresses WHERE at < ?');
  return {
    findAddresses(addresses, count) {
      const found = Array.from({ length: count }, (): AddressCheck | undefined => undefined);
      for (const { place, version, at } of select.all(addresses)) {
        const position = integer(place, 'key');
        found[position] = {
          version: textOrNull(version, 'checked_addresses.version'),
          at: integer(at, 'checked_addresses.at'),
        };
      }
      return found;
    },
    rememberAddresses(checks, at) {
      inTransaction(database, () => {
        forget.run(at - FORGOTTEN_MS);
        for (const { address, version } of checks) insert.run(address, version, at);
      });
    },
  };
}
