import type { ContactSpec, PropertiesSpec } from '../../config/mapping-contact.ts';
import { CONTACT_TEXT_FIELDS, type Contact, type ContactProperty } from '../../model/contact.ts';
import { type Cell, isList, Unreadable } from '../cell.ts';
import { compileField, type Field } from '../field.ts';
import { compileFlag } from '../flag.ts';
import type { Built } from '../map-record.ts';
import { cleanCell } from '../read-cell.ts';
import type { RecordRows } from '../record-rows.ts';
import { resolveName, type Scope, unknownName } from '../scope.ts';

type Draft = { -readonly [K in keyof Contact]: Contact[K] };

const LEAVE_OUT = { blank: 'leave-out' } as const;

/** Compiles the fields of a contact (storefront-api.md, section 4.2). Only fields that are not empty are sent. */
export function compileContact(scope: Scope, contact: ContactSpec): (rows: RecordRows) => Built {
  const texts = CONTACT_TEXT_FIELDS.flatMap((name) => {
    const value = contact[name];
    return value === undefined
      ? []
      : [{ name, field: compileField(scope, ['contact', name], value, { ...LEAVE_OUT, wanted: 'text' }) }];
  });
  for (const [name, value] of Object.entries(contact.match ?? {})) {
    compileField(scope, ['contact', 'match', name], value, { ...LEAVE_OUT, wanted: 'text' });
  }
  const properties = compileProperties(scope, contact.properties);
  const list = (key: 'tags' | 'subscriberLists', wanted: 'text[]' | 'number[]'): Field | undefined => {
    const value = contact[key];
    return value === undefined
      ? undefined
      : compileField(scope, ['contact', key], value, { ...LEAVE_OUT, wanted });
  };
  const tags = list('tags', 'text[]');
  const lists = list('subscriberLists', 'number[]');
  const subscribed =
    contact.subscribed === undefined
      ? undefined
      : compileFlag(scope, ['contact', 'subscribed'], contact.subscribed);
  return (rows) => {
    const line = rows.head?.line;
    const draft: Draft = {};
    const blank: string[] = [];
    for (const { name, field } of texts) {
      const value = field(rows);
      if (value instanceof Unreadable) {
        return { rejected: value.reason(name, line) };
      }
      if (typeof value === 'string') {
        draft[name] = value;
      } else {
        blank.push(name);
      }
    }
    const filled = properties(rows);
    if (filled instanceof Unreadable) {
      return { rejected: filled.reason('properties', line) };
    }
    blank.push(...filled.blank);
    if (filled.properties.length > 0) {
      draft.properties = filled.properties;
    }
    const tagged = tags?.(rows);
    if (tagged instanceof Unreadable) {
      return { rejected: tagged.reason('tags', line) };
    }
    if (isList(tagged)) {
      draft.tags = [...new Set(tagged.map(String))];
    } else if (tags !== undefined) {
      blank.push('tags');
    }
    const consents = rows.head === undefined ? undefined : subscribed?.(rows.head, 0);
    if (consents instanceof Unreadable) {
      return { rejected: consents.reason('subscribed', line) };
    }
    if (typeof consents === 'boolean') {
      draft.subscribed = consents;
    } else if (subscribed !== undefined) {
      blank.push('subscribed');
    }
    const ids = lists?.(rows);
    const wrong = notIds(ids, line);
    if (wrong !== undefined) {
      return { rejected: wrong.reason('subscriberLists', line) };
    }
    if (isList(ids)) {
      draft.subscriberLists = [...new Set(ids.filter((id) => typeof id === 'number'))];
    } else if (lists !== undefined) {
      blank.push('subscriberLists');
    }
    return Object.keys(draft).length === 0
      ? {
          skipped: {
            code: 'nothing-to-send',
            message: 'all fields are blank',
            ...(line === undefined ? {} : { line }),
          },
        }
      : { body: draft, blankFields: blank };
  };
}

function notIds(ids: Cell, line: number | undefined): Unreadable | undefined {
  if (ids instanceof Unreadable) {
    return ids;
  }
  return isList(ids) && !ids.every((id) => typeof id === 'number' && Number.isSafeInteger(id) && id >= 0)
    ? new Unreadable('not-an-id', 'a subscriber list is named by its id, a whole number', line)
    : undefined;
}

interface Properties {
  readonly properties: readonly ContactProperty[];
  readonly blank: readonly string[];
}

function compileProperties(
  scope: Scope,
  spec: PropertiesSpec | undefined,
): (rows: RecordRows) => Properties | Unreadable {
  const fields = Object.entries(spec?.fields ?? {}).map(([name, value]) => ({
    name,
    field: compileField(scope, ['contact', 'properties', 'fields', name], value, {
      ...LEAVE_OUT,
      wanted: 'text',
    }),
  }));
  const names = compileFamily(scope, 'names', spec?.names);
  const values = compileFamily(scope, 'values', spec?.values);
  if ((names === undefined) !== (values === undefined)) {
    scope.problems.add(['contact', 'properties'], 'names and values go together');
  }
  return (rows) => {
    const properties: ContactProperty[] = [];
    const blank: string[] = [];
    for (const { name, field } of fields) {
      const value = field(rows);
      if (value instanceof Unreadable) {
        return value;
      }
      if (typeof value === 'string') {
        properties.push({ name, value });
      } else {
        blank.push(`properties.${name}`);
      }
    }
    const cells = rows.head?.cells ?? [];
    for (const number of names?.numbers ?? []) {
      const name = cleanCell(cells[names?.slots.get(number) ?? -1]);
      const value = cleanCell(cells[values?.slots.get(number) ?? -1]);
      if (name !== undefined && value !== undefined) {
        properties.push({ name, value });
      }
    }
    for (const [header, slot] of scope.columns.rest) {
      const value = cleanCell(cells[slot]);
      if (value !== undefined) {
        properties.push({ name: header, value });
      } else if (cells[slot] !== undefined) {
        blank.push(`properties.${header}`);
      }
    }
    return { properties, blank };
  };
}

function compileFamily(scope: Scope, key: 'names' | 'values', name: string | undefined) {
  if (name === undefined) {
    return undefined;
  }
  const named = resolveName(scope, name);
  if (named?.kind === 'family') {
    return named.family;
  }
  if (named === undefined) {
    unknownName(scope, ['contact', 'properties', key], name);
  } else {
    scope.problems.add(['contact', 'properties', key], `${name} is not a family: expected {n} in its name`);
  }
  return undefined;
}
