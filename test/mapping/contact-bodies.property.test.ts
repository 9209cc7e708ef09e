import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storeListsTable } from '../../src/mapping/lookup-table.ts';
import type { Mapped, MappedRecord } from '../../src/model/mapped-record.ts';
import { mergeContacts } from '../../src/plan/copies/resolve-copies.ts';
import { emptyValuesIn } from '../support/crm-contact.ts';
import { mapAll, mappingOf, shippedMapping, table } from './mapping-setup.ts';

/** Transforms and templates that could come to nothing. */
const tricky = mappingOf(`
import: contacts
columns: { id: Id, a: A, b: B, 'n{n}': 'N{n}', 'v{n}': 'V{n}' }
params: { none: '' }
contact:
  id: id
  name: "{none}"
  email: { first: [[a, email], [a, { replace: '.' }], { const: '' }] }
  phone: [a, { extract: '([0-9]*)' }]
  note: [a, { html: strip }]
  address: { join: [a, b], with: ' ' }
  city: [a, { trim: 'x' }]
  tags: { all: [[a, { split: [',', ';'] }, { replace: 'x' }], b, '{none}'] }
  subscriberLists: [b, { split: ',' }, { integer: { otherwise: blank } }, { min: 0 }]
  subscribed: { a: [yes, x] }
  properties: { fields: { P: '{none}', Q: [a, { replace: 'x', with: '' }] }, names: 'n{n}', values: 'v{n}', rest: true }
`);

const MAPPINGS = {
  tricky: ['Id', 'A', 'B', 'N1', 'V1', 'N2', 'V2', 'Else', 'More'],
  'hubspot-contacts': [
    'Email',
    'First Name',
    'Phone Number',
    'Street Address',
    'Tags',
    'Unsubscribed from all email',
    'Job Title',
  ],
  'salesforce-contacts': [
    'Email',
    'FirstName',
    'LastName',
    'MailingStreet',
    'OtherCity',
    'HasOptedOutOfEmail',
    'Description',
  ],
  'mailchimp-contacts': [
    'Email Address',
    'First Name',
    'Address',
    'TAGS',
    'NOTES',
    'Shoe size',
    'UNSUB_TIME',
  ],
  'google-contacts': [
    'E-mail 1 - Value',
    'First Name',
    'Labels',
    'Phone 1 - Value',
    'Address 1 - Formatted',
    'E-mail 2 - Value',
  ],
  'outlook-contacts': [
    'E-mail Address',
    'First Name',
    'Categories',
    'Business Street',
    'Home Address',
    'Birthday',
    'Notes',
  ],
} as const;

const cell = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u00a0',
    ',',
    ' ; ; ',
    '""',
    '"',
    ':::',
    '* ',
    'x',
    'xx',
    'yes',
    'no',
    '0',
    '7',
    '<b></b>',
    '\n',
  ),
  fc.constantFrom('ann@mail.example', 'a, b', '"a, b",c', '<p>a</p>', 'text', '0/0/00'),
  fc.string({ maxLength: 8 }),
);

function isRecord(mapped: Mapped): mapped is MappedRecord {
  return mapped.kind === 'record';
}

describe('what is sent of a contact', () => {
  it.each(Object.entries(MAPPINGS))('never holds an empty field, list or value: %s', async (name, header) => {
    const spec = name === 'tricky' ? tricky : shippedMapping(name);
    const lists = [{ id: 0, name: 'x' }];
    const context = {
      crosswalk: name === 'tricky' ? undefined : { match: 'email', file: 'ids.csv', find: () => 7 },
      lookups: new Map(name === 'tricky' ? [] : [['storeLists', storeListsTable(lists, 'name')] as const]),
    };
    const first = fc.constantFrom('1', '2');
    const row = fc.tuple(
      ...header.map((_, index) =>
        index > 0 ? cell : name === 'tricky' ? first : fc.constantFrom('ann@mail.example', ' '),
      ),
    );
    let records = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 6 }), async (rows) => {
        const { mapped } = await mapAll(spec, [table(header, rows)], context);
        const sent = mapped.filter(isRecord);
        records += sent.length;
        for (const { body } of sent) {
          expect(emptyValuesIn(body)).toEqual([]);
          expect(Object.keys(body)).not.toEqual([]);
        }
        if (sent.length > 0) expect(emptyValuesIn(mergeContacts('7', sent).body)).toEqual([]);
      }),
    );
    expect(records).toBeGreaterThan(0);
  });
});
