import { SCHEMA_NAMES, schemaFor } from '../config/json-schema.ts';
import { UsageError } from '../model/errors.ts';
import type { Invocation } from './invocation.ts';

/** Prints the JSON Schema of a kind of file. */
export async function schema({ terminal }: Invocation, name: string): Promise<number> {
  const known = SCHEMA_NAMES.find((one) => one === name);
  if (known === undefined) {
    throw new UsageError(`There is no schema '${name}'.`, { hint: `There is ${SCHEMA_NAMES.join(', ')}.` });
  }
  terminal.out(`${JSON.stringify(schemaFor(known), null, 2)}\n`);
  return 0;
}
