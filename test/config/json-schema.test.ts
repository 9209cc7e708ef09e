import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SCHEMA_NAMES, type SchemaName, schemaFor } from '../../src/config/workspace.ts';
import { SHIPPED_MAPPINGS } from '../../src/config/workspace-files.ts';
import { CONTACTS, JOB, MAPPING, STORES } from './support.ts';

const ajv = new Ajv({ strict: false });
const validators = {
  job: ajv.compile(schemaFor('job')),
  mapping: ajv.compile(schemaFor('mapping')),
  stores: ajv.compile(schemaFor('stores')),
};

/** Whether an editor would underline nothing. */
function accepts(name: SchemaName, text: string): boolean {
  return validators[name](parse(text)) === true;
}

const EXPORT = 'export: orders\nstore: main\ndestination: { path: a.csv }\n';

describe('the JSON Schema', () => {
  it.each(SCHEMA_NAMES)('of a %s says what it is, in draft 7', (name) => {
    expect(schemaFor(name)).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: `Storeferry: ${name}`,
    });
  });

  it.each<[SchemaName, string]>([
    ['stores', STORES],
    ['stores', `${STORES}  limits: { concurrency: "\${MANY:4}", requestsPerSecond: 0.5 }\n`],
    ['job', JOB],
    ['job', `${JOB}mode: \${MODE}\nsafety: { maxDeletes: 5%, minRows: 0, maxChanges: "\${MAX:off}" }\n`],
    ['job', EXPORT],
    ['mapping', MAPPING],
    ['mapping', CONTACTS],
  ])('of a %s accepts what is read: %j', (name, text) => {
    expect(accepts(name, text)).toBe(true);
  });

  it.each<[SchemaName, string]>([
    ['stores', STORES.replace('baseUrl', 'baseURL')],
    ['stores', `${STORES}  weightUnit: lbs\n`],
    ['stores', `\${NAME}: { baseUrl: https://x, apiKey: k }\n`],
    ['job', `${JOB}mode: mirorr\n`],
    ['job', `${JOB}safety: { maxDeletes: 500% }\n`],
    ['job', JOB.replace('path:', 'url:')],
    ['job', JOB.replace('store: main\n', '')],
    ['job', EXPORT.replace('orders', 'products')],
    ['mapping', MAPPING.replace('pricing', 'prices')],
    ['mapping', CONTACTS.replace('contact:', 'product:')],
  ])('of a %s marks what is refused: %j', (name, text) => {
    expect(accepts(name, text)).toBe(false);
  });

  it('of a mapping accepts every mapping that Storeferry ships', () => {
    const files = readdirSync(SHIPPED_MAPPINGS).filter((file) => file.endsWith('.yaml'));
    expect(
      files.filter((file) => !accepts('mapping', readFileSync(join(SHIPPED_MAPPINGS, file), 'utf8'))),
    ).toEqual([]);
    expect(files.length).toBeGreaterThan(0);
  });
});
