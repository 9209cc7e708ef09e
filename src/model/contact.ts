/** A custom property of a contact (storefront-api.md, section 2, Contact). */
export interface ContactProperty {
  readonly name: string;
  readonly value: string;
}

/** The writable fields of a contact that hold plain text (section 4.2). */
export const CONTACT_TEXT_FIELDS = [
  'email',
  'name',
  'phone',
  'note',
  'address',
  'city',
  'state',
  'zip',
  'country',
  'companyName',
] as const;
/** One of the text fields of a contact. */
export type ContactTextField = (typeof CONTACT_TEXT_FIELDS)[number];

/**
 * A contact as it is sent: the body of `PUT /api/site/contacts/{id}` (section 4.2). Empty fields are never
 * present, since the store would not overwrite with them; `false` and 0 are not empty.
 */
export interface Contact extends Readonly<Partial<Record<ContactTextField, string>>> {
  readonly properties?: readonly ContactProperty[];
  readonly tags?: readonly string[];
  readonly subscribed?: boolean;
  readonly subscriberLists?: readonly number[];
}
