import { expect } from 'vitest';
import { checkMapping } from '../../../src/mapping/compile-mapping.ts';
import type { Product } from '../../../src/model/mapped-record.ts';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, products, table } from '../../mapping/mapping-setup.ts';

/** When the tables are guessed. */
export const NOW = Date.parse('2026-06-15T12:00:00Z');

/** The ids of the questions about a table of products in CSV with semicolons; without any, what is sent of each row. */
export async function guessed<Sent>(
  text: string,
  sent: (product: Product) => Sent,
  answers: Readonly<Record<string, string>> = {},
): Promise<readonly (string | Sent)[]> {
  const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
  const { spec, questions } = proposeMapping('products', { header, rows, now: NOW }, answers);
  if (spec === null) return questions.map(({ id }) => id);
  expect(checkMapping(spec)).toEqual([]);
  const { mapped } = await mapAll(spec, [table(header, rows)]);
  expect(mapped.filter(({ kind }) => kind === 'rejected')).toEqual([]);
  return products(mapped).map(sent);
}
