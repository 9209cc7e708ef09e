import type { ContactMappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { CONTACT_TEXT_FIELDS } from '../../model/mapped-record.ts';
import { loosened } from '../../model/nearest.ts';
import type { ImportJob } from './import-job.ts';

/** The fields of a contact by which a crosswalk may find it: those that the mapping fills, and its `match`. */
export function matchableFields(contact: ContactMappingSpec['contact']): readonly string[] {
  const filled = CONTACT_TEXT_FIELDS.filter((field) => contact[field] !== undefined);
  return [...filled, ...Object.keys(contact.match ?? {})];
}

/** The field that a crosswalk's column is compared with: the one that `field` names, or the one of the same name; undefined: none. */
export function crosswalkField(
  { match, field = match }: NonNullable<ImportJob['crosswalk']>,
  contact: ContactMappingSpec['contact'],
): string | undefined {
  const fields = matchableFields(contact);
  return fields.find((name) => name === field) ?? fields.find((name) => loosened(name) === loosened(field));
}
