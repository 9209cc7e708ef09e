type Cells = Readonly<Record<string, string>>;

/** What a row of a HubSpot export says of a contact, read without the mapping. Blanks are `''` or empty lists. */
export function crmContact(row: Cells): Record<string, unknown> {
  const cell = (name: string) => (row[name] ?? '').trim();
  const property = (name: string, value: string) => (value === '' ? [] : [{ name, value }]);
  const optedOut = cell('Unsubscribed from all email');
  return {
    email: cell('Email').toLowerCase(),
    name: [cell('First Name'), cell('Last Name')].filter((part) => part !== '').join(' '),
    phone: cell('Phone Number') || cell('Mobile Phone Number'),
    note: cell('Notes'),
    address: cell('Street Address'),
    city: cell('City'),
    state: cell('State/Region'),
    zip: cell('Postal Code'),
    country: cell('Country/Region') || cell('Country'),
    companyName: cell('Company Name'),
    properties: [
      ...property('Job Title', cell('Job Title')),
      ...property('Mobile Phone', cell('Mobile Phone Number')),
      ...property('Lifecycle Stage', cell('Lifecycle Stage')),
      ...property('Lead Status', cell('Lead Status')),
      ...property('Lead Source', cell('Lead Source')),
      ...property('Website', cell('Website URL')),
    ],
    tags: cell('Tags')
      .split(';')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
    // Not to have opted out is no consent.
    subscribed: optedOut === 'true' ? false : '',
  };
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === '' || value === null || (Array.isArray(value) && value.length === 0)
  );
}

/** The fields that are not empty: all that a store takes over (storefront-api.md, section 4.2). */
export function filled(contact: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(contact).filter(([, value]) => !isEmpty(value)));
}

/** Every empty text, empty list or null anywhere in a value. */
export function emptyValuesIn(value: unknown): unknown[] {
  if (isEmpty(value)) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(emptyValuesIn) : [];
}
