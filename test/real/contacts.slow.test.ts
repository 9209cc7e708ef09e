import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { CONTEXT, shippedMapping } from '../mapping/mapping-setup.ts';
import { crmContact, emptyValuesIn, filled } from '../support/crm-contact.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { DATA_FOLDER, dataPresent, suiteName } from './catalog-rows.ts';

type Cells = Readonly<Record<string, string>>;

interface ContactFile {
  readonly file: string;
  readonly rows: number;
  readonly mapping: string;
  readonly delimiter?: string;
  readonly email: string;
  /** What a row says of a contact, read without the mapping; undefined when it must be rejected. */
  readonly contact: (row: Cells, cells: readonly string[]) => Readonly<Record<string, unknown>> | undefined;
}

const join = (row: Cells, separator: string, ...names: readonly string[]) =>
  names
    .map((name) => (row[name] ?? '').trim())
    .filter((part) => part !== '')
    .join(separator);

const properties = (row: Cells, names: Readonly<Record<string, string>>) =>
  Object.entries(names).flatMap(([name, column]) => {
    const value = (row[column] ?? '').trim();
    return value === '' ? [] : [{ name, value }];
  });

const thunderbird = (file: string, rows: number, delimiter = ','): ContactFile => ({
  file,
  rows,
  delimiter,
  mapping: 'thunderbird-contacts',
  email: 'Primary Email',
  contact: (row, cells) =>
    cells.slice(Object.keys(row).length).some((cell) => cell !== '') || row['Primary Email'] === ''
      ? undefined
      : {
          email: row['Primary Email'],
          name: row['Display Name'],
          note: row['Notes'],
          properties: properties(row, {
            Pager: 'Pager Number',
            'Job Title': 'Job Title',
            'Custom 1': 'Custom 1',
            'Custom 2': 'Custom 2',
            'Custom 3': 'Custom 3',
            'Custom 4': 'Custom 4',
          }),
        },
});

const FILES: readonly ContactFile[] = [
  {
    file: 'hubspot_style_dummy_contacts.csv',
    rows: 950,
    mapping: 'hubspot-contacts',
    email: 'Email',
    contact: (row) => crmContact(row),
  },
  {
    file: 'google_contacts_old_format.csv',
    rows: 3,
    mapping: 'google-contacts',
    email: 'E-mail 1 - Value',
    contact: (row) => ({ email: row['E-mail 1 - Value'], name: row['Name'] }),
  },
  {
    file: 'outlook_graph_demo_contacts.csv',
    rows: 3,
    mapping: 'outlook-contacts',
    email: 'EmailAddress',
    contact: (row) => ({
      email: row['EmailAddress'],
      name: join(row, ' ', 'GivenName', 'MiddleName', 'Surname'),
      phone: row['BusinessPhone'],
      note: row['PersonalNotes'],
      address: row['BusinessStreet'],
      city: row['BusinessCity'],
      state: row['BusinessState'],
      zip: row['BusinessPostalCode'],
      country: row['BusinessCountry'],
      companyName: row['CompanyName'],
      properties: properties(row, {
        'Job Title': 'JobTitle',
        Department: 'Department',
        'Mobile Phone': 'MobilePhone',
        'Home Phone': 'HomePhone',
        Birthday: 'Birthday',
      }),
    }),
  },
  {
    // What Google Workspace takes for shared contacts: lines to delete and update end after half of their cells.
    file: 'google_shared_contacts_outlook.csv',
    rows: 3,
    mapping: 'outlook-contacts',
    email: 'E-mail Address',
    contact: (row, cells) =>
      cells.length < 22
        ? undefined
        : {
            email: row['E-mail Address'],
            name: row['Name'],
            phone: row['Business Phone'],
            note: row['Notes'],
            address: row['Business Address'],
            companyName: row['Company'],
            properties: properties(row, {
              'Job Title': 'Job Title',
              'Mobile Phone': 'Mobile Phone',
              'Home Phone': 'Home Phone',
              'E-mail 2': 'E-mail 2 Address',
              'E-mail 3': 'E-mail 3 Address',
            }),
          },
  },
  // Its rows have a blank cell more than its header, all of them.
  thunderbird('thunderbird_basic_csv_addressbook.csv', 2),
  thunderbird('thunderbird_csv_semicolon.csv', 2, ';'),
  thunderbird('thunderbird_export.csv', 2),
  // A company without an e-mail: no crosswalk by e-mail finds it.
  thunderbird('thunderbird_quote.csv', 1),
];

const FIRST_ID = 5000;

/** A store that has every contact of the file, a crosswalk to them, and a job that brings the file in. */
async function setup({ file, mapping, delimiter = ',', email, contact }: ContactFile) {
  const path = fileURLToPath(new URL(`contacts/${file}`, DATA_FOLDER));
  const [header = [], ...lines] = parse(readFileSync(path), {
    bom: true,
    delimiter,
    relax_column_count: true,
  });
  const rows = lines.map((cells) => {
    const row: Cells = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? '']));
    return { email: (row[email] ?? '').trim(), contact: contact(row, cells) };
  });
  const ids = rows.flatMap((row, index) => (row.email === '' ? [] : [`${FIRST_ID + index};${row.email}`]));
  const store = await startStore({ seed: 1, contacts: rows.map((_, index) => FIRST_ID + index) });
  const own = readFileSync(new URL('thunderbird-contacts.yaml', import.meta.url), 'utf8');
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
      'mappings/thunderbird-contacts.yaml': own,
      'ids.csv': `${['id;email', ...ids].join('\n')}\n`,
      'jobs/real.yaml': `import: contacts\nstore: main\nsource: { path: ${JSON.stringify(path)} }\nmapping: ${mapping}\ncrosswalk: { path: ids.csv, match: email }\nsafety: { maxRejects: off }\n`,
    },
    { STORE_API_KEY: store.apiKey },
  );
  return {
    rows,
    store,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

describe.skipIf(!dataPresent)(suiteName('real contacts'), () => {
  it.each(FILES)('of $file are in the store exactly, each row accounted for, and sent once', async (file) => {
    await using real = await setup(file);
    const { rows, store, workspace } = real;
    expect(rows).toHaveLength(file.rows);
    const sendable = rows.filter(({ contact }) => contact !== undefined);
    const run = await workspace.storeferry('run', 'real', '--json');
    expect(run.json()).toMatchObject({
      rows: rows.length,
      records: rows.length,
      applied: sendable.length,
      rejected: rows.length - sendable.length,
      requests: sendable.length,
      skipped: 0,
      error: null,
    });
    expect(run.code).toBe(sendable.length === rows.length ? 0 : 3);

    const expected = rows.map(({ contact = {} }, index) => ({
      id: FIRST_ID + index,
      createdOn: 1_700_000_000,
      ...filled(contact),
    }));
    const held = [...store.shop.contacts.values()];
    expect(held).toEqual(expected);
    expect(store.violations).toEqual([]);
    expect(held.flatMap(emptyValuesIn)).toEqual([]);
    expect(run.stdout + run.stderr).not.toContain('@');

    const again = await workspace.storeferry('run', 'real', '--json');
    expect(again.json()).toMatchObject({ requests: 0, unchanged: sendable.length });
  });

  it('are all the files there are', () => {
    const there = readdirSync(new URL('contacts/', DATA_FOLDER)).filter((name) => name.endsWith('.csv'));
    expect(FILES.map(({ file }) => file).toSorted()).toEqual(there.toSorted());
  });

  it.each([
    [
      'hubspot_real_export_header.csv',
      'hubspot-contacts',
      ['recordId', 'first', 'last', 'email', 'phone', 'company', 'joinedCompany', 'country', 'job'],
    ],
    [
      'salesforce_data_export_contact_header.csv',
      'salesforce-contacts',
      [
        'id',
        'deleted',
        'first',
        'middle',
        'last',
        'suffix',
        'email',
        'mailStreet',
        'mailCountry',
        'optedOut',
      ],
    ],
    [
      'google_contacts_old_header.csv',
      'google-contacts',
      ['fullName', 'first', 'labels', 'phone{n}', 'company'],
    ],
  ])('with the header of %s find their columns in %s', (file, mapping, wanted) => {
    const text = readFileSync(new URL(`contacts/header_only/${file}`, DATA_FOLDER));
    const [header = []]: string[][] = parse(text, { bom: true });
    const { used } = compileMapping(shippedMapping(mapping), CONTEXT).bind(header, 0).report;
    expect(used.map(({ name }) => name)).toEqual(expect.arrayContaining(wanted));
  });
});
