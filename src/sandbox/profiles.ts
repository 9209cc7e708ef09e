/**
 * How a store may differ from what the document promises or leaves open. Without a profile the sandbox is the document
 * alone (README.md beside this file). Profiles can be combined.
 */
export const PROFILES = {
  extended:
    'also has the endpoints that real stores have beyond the document: reads, contacts by e-mail, categories',
  'replace-whole': 'an update of a product empties the fields that the body does not have',
  'clears-lists': 'an empty list in the body of a contact clears the stored one',
  'refuses-empty-put': 'refuses the update of a contact whose body has no non-empty field',
  'flattens-variants': 'keeps prices and stock of single variants only where an option is `advanced`',
} as const satisfies Readonly<Record<string, string>>;

/** The name of a profile. */
export type Profile = keyof typeof PROFILES;

/** The profiles of a running sandbox. */
export type Profiles = ReadonlySet<Profile>;

/** Whether a text is the name of a profile. */
export function isProfile(name: string): name is Profile {
  return Object.hasOwn(PROFILES, name);
}
