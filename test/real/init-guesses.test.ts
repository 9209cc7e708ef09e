import { createReadStream, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { availableMappings } from '../../src/config/workspace.ts';
import { guessMapping, recogniseFile } from '../../src/onboarding/guess-mapping.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { DATA_FOLDER } from './catalog-rows.ts';
import { CATALOGS } from './catalogs.ts';

const CONTACTS = {
  'google-contacts': ['google_contacts_old_format.csv', 'header_only/google_contacts_old_header.csv'],
  'hubspot-contacts': ['hubspot_style_dummy_contacts.csv', 'header_only/hubspot_real_export_header.csv'],
  'outlook-contacts': ['outlook_graph_demo_contacts.csv', 'google_shared_contacts_outlook.csv'],
  'salesforce-contacts': ['header_only/salesforce_data_export_contact_header.csv'],
};

/** Files of shops and programs that no shipped mapping is for: a guess would be wrong. */
const UNKNOWN = [
  'contacts/thunderbird_export.csv',
  'prestashop/thirtybees_addresses_import.csv',
  'prestashop/thirtybees_categories_import.csv',
  'prestashop/thirtybees_customers_import.csv',
];

const EXPECTED: readonly (readonly [file: string, mapping: string | undefined])[] = [
  ...CATALOGS.map(({ file, mapping }) => [file, mapping] as const),
  ...Object.entries(CONTACTS).flatMap(([mapping, files]) =>
    files.map((file) => [`contacts/${file}`, mapping] as const),
  ),
  ['prestashop/thirtybees_combinations_import.csv', 'prestashop-products'],
  ['prestashop/thirtybees_products_import.csv', 'prestashop-products'],
  ...UNKNOWN.map((file) => [file, undefined] as const),
];

const isThere = existsSync(DATA_FOLDER);

describe.skipIf(!isThere)(
  `init guesses where a real file comes from${isThere ? '' : ' (skipped, no ../shared/data)'}`,
  () => {
    const mappings = availableMappings(fileURLToPath(new URL('.', import.meta.url)), {});

    it.each(EXPECTED)('%s: %s', async (file, mapping) => {
      using table = await readCsv(createReadStream(new URL(file, DATA_FOLDER)), { name: file });
      const rows: string[][] = [];
      for await (const batch of table.batches()) {
        rows.push(...batch.map(({ cells }) => [...cells]));
        if (rows.length > 200) break;
      }
      expect(guessMapping(table.header, mappings).best?.name).toBe(mapping);
      expect(recogniseFile({ header: table.header, rows }, mappings).best?.name).toBe(mapping);
    });
  },
);
