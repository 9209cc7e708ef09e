import type { ContactSpec } from '../../config/mapping/mapping-contact.ts';
import { CONTACT_TEXT_FIELDS, type Contact } from '../../model/contact.ts';
import type { Built } from '../map-record.ts';
import type { RecordRows } from '../rows.ts';
import type { Scope } from '../scope.ts';
import { type Cell, type Item, Unreadable } from '../values/cell.ts';
import { compileField, compileFlag, type Field } from '../values/field.ts';
import { filledList, filledText } from './filled.ts';
import { compileProperties } from './properties.ts';

type Draft = { -readonly [K in keyof Contact]: Contact[K] };

/** Adds a field to the draft, or says why it cannot be read; a blank adds nothing. */
type Filler = (draft: Draft, rows: RecordRows) => Unreadable | undefined;

/** Compiles the fields of a contact (storefront-api.md, section 4.2). Only fields that are not empty are sent. */
export function compileContact(scope: Scope, contact: ContactSpec): (rows: RecordRows) => Built {
  const field = (
    name: keyof ContactSpec,
    wanted: 'text' | 'text[]' | 'number[]',
    value: ContactSpec['id'],
  ) =>
    value === undefined
      ? undefined
      : compileField(scope, ['contact', name], value, { wanted, blank: 'leave-out' });
  checkMatch(scope, contact);
  const fillers: readonly { readonly name: string; readonly fill: Filler }[] = [
    ...CONTACT_TEXT_FIELDS.flatMap((name) => {
      const read = field(name, 'text', contact[name]);
      return read === undefined ? [] : [{ name, fill: textFiller(name, read) }];
    }),
    { name: 'properties', fill: propertiesFiller(scope, contact) },
    { name: 'tags', fill: tagsFiller(field('tags', 'text[]', contact.tags)) },
    { name: 'subscribed', fill: subscribedFiller(scope, contact) },
    {
      name: 'subscriberLists',
      fill: listsFiller(field('subscriberLists', 'number[]', contact.subscriberLists)),
    },
  ];
  return (rows) => {
    const line = rows.head?.line;
    const draft: Draft = {};
    for (const { name, fill } of fillers) {
      const unreadable = fill(draft, rows);
      if (unreadable !== undefined) return { rejected: unreadable.reason(name, line) };
    }
    if (Object.keys(draft).length > 0) return { body: draft };
    const skipped = { code: 'nothing-to-send', message: 'all fields are blank' };
    return { skipped: line === undefined ? skipped : { ...skipped, line } };
  };
}

/** `match` is read only where a crosswalk asks for it; what is wrong with it should show before. */
function checkMatch(scope: Scope, contact: ContactSpec): void {
  for (const [name, value] of Object.entries(contact.match ?? {})) {
    const path = ['contact', 'match', name];
    compileField(scope, path, value, { wanted: 'text', blank: 'leave-out' });
    if (CONTACT_TEXT_FIELDS.some((field) => field === name && contact[field] !== undefined)) {
      scope.problems.add(
        path,
        `the contact has a field ${name}, and a crosswalk that matches ${name} takes that`,
      );
    }
  }
}

function textFiller(name: (typeof CONTACT_TEXT_FIELDS)[number], read: Field): Filler {
  return (draft, rows) => {
    const value = read(rows);
    if (value instanceof Unreadable) return value;
    const text = filledText(value);
    if (text !== undefined) draft[name] = text;
    return undefined;
  };
}

function propertiesFiller(scope: Scope, contact: ContactSpec): Filler {
  const read = compileProperties(scope, contact.properties);
  return (draft, rows) => {
    const properties = read(rows);
    if (properties instanceof Unreadable) return properties;
    if (properties.length > 0) draft.properties = properties;
    return undefined;
  };
}

function tagsFiller(read: Field | undefined): Filler {
  return (draft, rows) => {
    const value = read?.(rows);
    if (value instanceof Unreadable) return value;
    const tags = filledList(value);
    if (tags !== undefined) draft.tags = tags.map(String);
    return undefined;
  };
}

function subscribedFiller(scope: Scope, { subscribed }: ContactSpec): Filler {
  if (subscribed === undefined) return () => undefined;
  const read = compileFlag(scope, ['contact', 'subscribed'], subscribed);
  return (draft, { head }) => {
    const value = head === undefined ? undefined : read(head, 0);
    if (value instanceof Unreadable) return value;
    if (typeof value === 'boolean') draft.subscribed = value;
    return undefined;
  };
}

function listsFiller(read: Field | undefined): Filler {
  return (draft, rows) => {
    const value: Cell = read?.(rows);
    if (value instanceof Unreadable) return value;
    const ids = filledList(value);
    if (ids === undefined) return undefined;
    if (!ids.every(isId)) {
      return new Unreadable(
        'not-an-id',
        'a subscriber list is named by its id, a whole number',
        rows.head?.line,
      );
    }
    draft.subscriberLists = ids;
    return undefined;
  };
}

function isId(item: Item): item is number {
  return typeof item === 'number' && Number.isSafeInteger(item) && item >= 0;
}
