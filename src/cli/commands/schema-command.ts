import { SCHEMA_NAMES, schemaFor } from '../../config/workspace.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { defineCommand, requiredArgument } from '../define-command.ts';

/** `storeferry schema`: prints the JSON Schema of a kind of file. */
export const schemaCommand = defineCommand({
  arguments: { name: requiredArgument('job, mapping or stores') },
  options: {},
  examples: ['schema mapping > mapping.schema.json'],
  async run({ terminal }, { name }) {
    const known = SCHEMA_NAMES.find((one) => one === name);
    if (known === undefined)
      throw new UsageError(`There is no schema '${name}'.`, {
        hint: `Known schemas: ${SCHEMA_NAMES.join(', ')}.`,
      });
    terminal.out(`${JSON.stringify(schemaFor(known), null, 2)}\n`);
    return 0;
  },
});
