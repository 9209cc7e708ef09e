import type { MappingFile } from '../../config/mapping/mapping-file.ts';
import { checkMapping } from '../../mapping/compile-mapping.ts';
import { runMappingTests } from '../../mapping/run-mapping-tests.ts';
import type { ConfigurationProblem } from '../../model/errors.ts';
import { parseCsvText } from './parse-csv-text.ts';

/** What is wrong in mappings beyond their schema, their own tests included, and how many of those passed. */
export async function checkMappings(
  mappings: readonly MappingFile[],
): Promise<{ readonly problems: readonly ConfigurationProblem[]; readonly passed: number }> {
  const problems: ConfigurationProblem[] = [];
  let passed = 0;
  for (const mapping of mappings) {
    const wrong = checkMapping(mapping.spec);
    problems.push(...wrong.map(({ path, message }) => ({ place: mapping.placeOf(path), message })));
    if (wrong.length > 0) continue;
    for (const { name, problems: failures } of await runMappingTests(mapping.spec, parseCsvText)) {
      if (failures.length === 0) passed++;
      problems.push(
        ...failures.map(({ path, message }) => ({
          place: mapping.placeOf(path),
          message: `test '${name}': ${message}`,
        })),
      );
    }
  }
  return { problems, passed };
}
