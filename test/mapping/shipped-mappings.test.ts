import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { runMappingTests } from '../../src/run/inputs/run-mapping-tests.ts';
import { shippedMapping } from './mapping-setup.ts';

const names = readdirSync(join(import.meta.dirname, '..', '..', 'mappings'))
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => basename(name, '.yaml'));

describe.each(names)('the shipped mapping %s', (name) => {
  it('has no problems', () => {
    expect(checkMapping(shippedMapping(name))).toEqual([]);
  });

  it('passes its own tests', async () => {
    const results = await runMappingTests(shippedMapping(name));
    expect(
      results.flatMap(({ name: test, problems }) => problems.map((problem) => ({ test, ...problem }))),
    ).toEqual([]);
    expect(results.length).toBeGreaterThan(0);
  });
});
