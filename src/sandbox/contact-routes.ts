import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { recordOf } from '../model/json-object.ts';
import { CONTACT_TEXT_FIELDS } from '../model/mapped-record.ts';
import { bodyColumn, numberColumn } from './open-database.ts';
import { answerRecord, type Profiles, type Route, refusalAnswer, route, withBody } from './route.ts';

const property = z.strictObject({ name: z.string(), value: z.string() });

/**
 * The body of `PUT /api/site/contacts/{id}` (storefront-api.md, section 4.2). `null` is taken as empty; the fields
 * that are "response only" in section 2 are ignored; fields the document does not name are refused.
 */
export const contactBody = z.strictObject({
  id: z.int().optional().meta({ readOnly: true }),
  createdOn: z.int().optional().meta({ readOnly: true }),
  memberId: z.int().nullable().optional().meta({ readOnly: true }),
  ...recordOf(CONTACT_TEXT_FIELDS, () => z.string().nullable().optional()),
  properties: z.array(property).nullable().optional(),
  tags: z.array(z.string()).nullable().optional(),
  subscribed: z.boolean().nullable().optional(),
  subscriberLists: z.array(z.int()).nullable().optional(),
});

type ContactBody = z.infer<typeof contactBody>;

/** A contact as it is answered: every field but `memberId`, which only members have. */
export const contactAnswer = z.strictObject({
  id: z.int(),
  ...recordOf(CONTACT_TEXT_FIELDS, () => z.string()),
  createdOn: z.int().meta({ description: 'Unix timestamp in seconds.' }),
  properties: z.array(property),
  tags: z.array(z.string()),
  memberId: z.int().optional(),
  subscribed: z.boolean(),
  subscriberLists: z.array(z.int()),
});

export type ContactAnswer = z.infer<typeof contactAnswer>;

/** storefront-api.md, section 4.2. */
export function contactRoutes(contacts: ContactTable, profiles: Profiles): Route[] {
  const summary = 'Update a contact: only non-empty fields of the body are set';
  const update: Route['handle'] = (call) =>
    withBody(contactBody, call, (body) =>
      profiles.has('refuses-empty-put') && !Object.values(body).some(isFilled)
        ? refusalAnswer(422, 'body: expected a field that is not empty')
        : answerRecord(call, (id) => contacts.update(id, body)),
    );
  return [route('PUT', '/api/site/contacts/:id', summary, 'Contact', update, { takes: 'ContactRequest' })];
}

/** The contacts of the sandbox: seeded, then updated; only the extended API adds and removes some. */
export type ContactTable = ReturnType<typeof openContactTable>;

const BATCH_SIZE = 500;

const NO_CONTACT = {
  ...recordOf(CONTACT_TEXT_FIELDS, () => ''),
  properties: [],
  tags: [],
  subscribed: false,
  subscriberLists: [],
};

function isFilled(value: unknown) {
  return (
    value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
  );
}

/** Statements over the contacts of an open database. */
export function openContactTable(database: DatabaseSync, profiles: Profiles) {
  database.exec("CREATE INDEX IF NOT EXISTS contacts_email ON contacts (lower(body ->> '$.email'))");
  const byId = database.prepare('SELECT body FROM contacts WHERE id = ?');
  const update = database.prepare('UPDATE contacts SET body = ? WHERE id = ?');
  const page = database.prepare('SELECT body FROM contacts ORDER BY id LIMIT ? OFFSET ?');
  const byEmail = database.prepare(
    "SELECT id, body FROM contacts WHERE lower(body ->> '$.email') = lower(?) ORDER BY id",
  );
  const between = database.prepare(
    "SELECT body FROM contacts WHERE body ->> '$.createdOn' BETWEEN ? AND ? ORDER BY id",
  );
  const insert = database.prepare(
    'INSERT INTO contacts (id, body) SELECT coalesce(max(id), 1000) + 1, ? FROM contacts RETURNING id',
  );
  const remove = database.prepare('DELETE FROM contacts WHERE id = ?');

  return {
    /** The updated contact as JSON text; undefined when there is no such contact. */
    update(id: number, body: ContactBody): string | undefined {
      const row = byId.get(id);
      if (row === undefined) return undefined;
      const stored = contactAnswer.parse(JSON.parse(bodyColumn(row)));
      const json = JSON.stringify(fillContact(stored, body, profiles.has('clears-lists')));
      update.run(json, id);
      return json;
    },
    /** The contact as JSON text; undefined when there is none. */
    read(id: number): string | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : bodyColumn(row);
    },
    /** The first contact with this e-mail address. */
    findByEmail(email: string): { readonly id: number; readonly json: string } | undefined {
      const row = byEmail.get(email);
      return row === undefined ? undefined : { id: numberColumn(row, 'id'), json: bodyColumn(row) };
    },
    /** JSON texts of the contacts that were created in a period, in seconds, in the order of their ids; both ends belong to it. */
    createdBetween: (from: number, to: number): string[] => between.all(from, to).map(bodyColumn),
    /** Adds a contact; `now` in seconds. */
    add(body: ContactBody, now: number): string {
      const id = numberColumn(insert.get('{}') ?? {}, 'id');
      const empty = contactAnswer.parse({ ...NO_CONTACT, id, createdOn: now });
      const json = JSON.stringify(fillContact(empty, body));
      update.run(json, id);
      return json;
    },
    /** False when there is no such contact. */
    remove: (id: number): boolean => remove.run(id).changes > 0,
    /** JSON texts of all contacts, by id, in batches. */
    *batches(): Iterable<readonly string[]> {
      for (let skip = 0; ; skip += BATCH_SIZE) {
        const rows = page.all(BATCH_SIZE, skip);
        if (rows.length === 0) return;
        yield rows.map(bodyColumn);
      }
    },
  };
}

/**
 * The rule of storefront-api.md, section 4.2: only non-empty fields of the body are set; empty ones (`''`, `[]`,
 * `null`, absent) do not overwrite. `false` is not empty, and neither is a list that holds only the id 0. A store with
 * the profile `clears-lists` takes an empty list as given.
 */
export function fillContact(stored: ContactAnswer, sent: ContactBody, clearsLists = false): ContactAnswer {
  const { id: _id, createdOn: _createdOn, memberId: _memberId, ...fields } = sent;
  const set = Object.entries(fields).filter(
    ([, value]) => isFilled(value) || (clearsLists && Array.isArray(value)),
  );
  return contactAnswer.parse({ ...stored, ...Object.fromEntries(set) });
}
