import type { DatabaseSync } from 'node:sqlite';
import { textColumn } from './column.ts';
import { type ContactBody, contactAnswer } from './contact-body.ts';
import { fillContact } from './fill-contact.ts';

/** The contacts of the sandbox: seeded, then only updated. */
export interface ContactTable {
  /** The updated contact as JSON text; undefined when there is no such contact. */
  update(id: number, body: ContactBody): string | undefined;
  /** JSON texts of all contacts, by id, in batches. */
  batches(): Iterable<readonly string[]>;
}

const BATCH_SIZE = 500;

/** Statements over the contacts of an open database. */
export function openContactTable(database: DatabaseSync): ContactTable {
  const byId = database.prepare('SELECT body FROM contacts WHERE id = ?');
  const update = database.prepare('UPDATE contacts SET body = ? WHERE id = ?');
  const page = database.prepare('SELECT body FROM contacts ORDER BY id LIMIT ? OFFSET ?');

  return {
    update(id, body) {
      const row = byId.get(id);
      if (row === undefined) return undefined;
      const stored = contactAnswer.parse(JSON.parse(textColumn(row, 'body')));
      const json = JSON.stringify(fillContact(stored, body));
      update.run(json, id);
      return json;
    },
    *batches() {
      for (let skip = 0; ; skip += BATCH_SIZE) {
        const rows = page.all(BATCH_SIZE, skip);
        if (rows.length === 0) return;
        yield rows.map((row) => textColumn(row, 'body'));
      }
    },
  };
}
