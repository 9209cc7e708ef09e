import type { ContactSpec } from '../../config/mapping-contact.ts';
import { CONTACT_TEXT_FIELDS } from '../../model/contact.ts';
import { didYouMean } from '../../model/nearest.ts';
import { type Cell, Unreadable } from '../cell.ts';
import { compileField, type Field } from '../field.ts';

import type { Scope } from '../scope.ts';

/** Finds the store's id of a contact by a field of it. */
export interface Crosswalk {
  /** The field to match: one of the contact, or of `match`. */
  readonly match: string;
  /** The id for a value, which is given trimmed and lower-cased. */
  readonly find: (value: string) => string | undefined;
}

/** Compiles the id of a contact: from the crosswalk where the job has one, else from the mapping's `id`. */
export function compileContactId(
  scope: Scope,
  contact: ContactSpec,
  crosswalk: Crosswalk | undefined,
): Field {
  const required = { wanted: 'text', blank: 'reject' } as const;
  if (crosswalk === undefined) {
    if (contact.id === undefined) {
      return () => new Unreadable('id-missing', 'the mapping has no id, and the job no crosswalk');
    }
    const id = compileField(scope, ['contact', 'id'], contact.id, required);
    return (rows) => asId(id(rows));
  }
  const known = CONTACT_TEXT_FIELDS.find((name) => name === crosswalk.match);
  const value = known === undefined ? contact.match?.[crosswalk.match] : contact[known];
  if (value === undefined) {
    const names = [...CONTACT_TEXT_FIELDS, ...Object.keys(contact.match ?? {})];
    scope.problems.add(
      ['contact'],
      `the crosswalk matches ${crosswalk.match}, which this mapping does not fill${didYouMean(crosswalk.match, names)}`,
    );
    return () => undefined;
  }
  const path = known === undefined ? ['contact', 'match', crosswalk.match] : ['contact', known];
  const matched = compileField(scope, path, value, required);
  return (rows) => {
    const found = matched(rows);
    if (typeof found !== 'string') {
      return found;
    }
    const id = crosswalk.find(found.trim().toLowerCase());
    return id === undefined
      ? new Unreadable(
          'crosswalk-no-match',
          `the crosswalk has no contact with this ${crosswalk.match}`,
          rows.head?.line,
        )
      : asId(id);
  };
}

function asId(cell: Cell): Cell {
  if (typeof cell !== 'string') {
    return cell;
  }
  const digits = /^0*([0-9]{1,15})(?:\.0+)?$/.exec(cell)?.[1];
  return digits ?? new Unreadable('id-not-a-number', "the contact's id is not a whole number");
}
