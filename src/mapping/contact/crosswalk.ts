import { CONTACT_TEXT_FIELDS } from '../../model/contact.ts';
import { didYouMean } from '../../model/nearest.ts';
import type { UnmatchedCode } from '../../model/unmatched-codes.ts';
import type { Scope } from '../scope.ts';
import type { ContactSpec } from '../spec/contact-spec.ts';
import { type Cell, refuse } from '../values/cell.ts';
import { compileField, type Field } from '../values/field.ts';

/** Finds the store's id of a contact by a field of it. */
export interface Crosswalk {
  /** The field to match: one of the contact, or of `match`. */
  readonly match: string;
  /** What messages call it. */
  readonly file: string;
  /** The id for a value, compared trimmed and in any case; undefined when it is not there, NaN when it is no number. */
  readonly find: (value: string) => number | undefined;
}

const NO_MATCH: UnmatchedCode = 'crosswalk-no-match';
const NOTHING_TO_MATCH: UnmatchedCode = 'crosswalk-nothing-to-match';

/** Compiles the id of a contact: from the crosswalk where the job has one, else from the mapping's `id`. */
export function compileContactId(
  scope: Scope,
  contact: ContactSpec,
  crosswalk: Crosswalk | undefined,
): Field {
  if (crosswalk === undefined) {
    if (contact.id === undefined) {
      return () => refuse('id-missing', 'the mapping has no id, and the job no crosswalk');
    }
    const id = compileField(scope, ['contact', 'id'], contact.id, { wanted: 'text', blank: 'reject' });
    return (rows) => asId(id(rows));
  }
  const known = CONTACT_TEXT_FIELDS.find((name) => name === crosswalk.match);
  const sent = known === undefined ? undefined : contact[known];
  const value = sent ?? new Map(Object.entries(contact.match ?? {})).get(crosswalk.match);
  if (value === undefined) {
    const names = [...CONTACT_TEXT_FIELDS, ...Object.keys(contact.match ?? {})];
    scope.problems.add(
      ['contact'],
      `the crosswalk matches ${crosswalk.match}, which this mapping does not fill${didYouMean(crosswalk.match, names)}`,
    );
    return () => undefined;
  }
  const path = ['contact', ...(sent === undefined ? ['match'] : []), crosswalk.match];
  const matched = compileField(scope, path, value, { wanted: 'text', blank: 'leave-out' });
  const { match, file } = crosswalk;
  return (rows) => {
    const found = matched(rows);
    if (typeof found !== 'string' || found.trim() === '') {
      return refuse(
        NOTHING_TO_MATCH,
        `the ${match} is blank, and the crosswalk finds contacts by it; fill it in, or update this contact by hand`,
        rows.head?.line,
      );
    }
    const id = crosswalk.find(found);
    if (id === undefined) {
      return refuse(
        NO_MATCH,
        `no contact in ${file} has this ${match}; create it in the store, or add it to the crosswalk, then retry`,
        rows.head?.line,
      );
    }
    return Number.isNaN(id)
      ? refuse('id-not-a-number', `the id in ${file} for this ${match} is not a whole number`)
      : String(id);
  };
}

function asId(cell: Cell): Cell {
  if (typeof cell !== 'string') return cell;
  const digits = /^0*([0-9]{1,15})(?:\.0+)?$/.exec(cell)?.[1];
  return digits ?? refuse('id-not-a-number', "the contact's id is not a whole number");
}
