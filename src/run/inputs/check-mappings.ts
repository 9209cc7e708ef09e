import { Readable } from 'node:stream';
import type { Job } from '../../config/job/job.ts';
import { readCsv } from '../../csv/read-csv.ts';
import { checkMapping } from '../../mapping/compile-mapping.ts';
import { type ParseCsv, runMappingTests } from '../../mapping/run-mapping-tests.ts';
import type { MappingFile } from '../../mapping/spec/mapping-spec.ts';
import { DEFAULT_LIMITS, type MappingLimits } from '../../model/input-limits.ts';
import type { Row } from '../../model/row.ts';
import type { ConfigurationProblem } from '../../model/storeferry-error.ts';

/**
 * The limits for checking a mapping: the highest that any job with this mapping allows, so that `check` reports no
 * problem that no run has.
 */
function limitsFor(mapping: MappingFile, jobs: readonly Job[]): MappingLimits {
  const users = jobs.flatMap((job) =>
    job.kind === 'import' && job.mapping === mapping.name ? [job.limits] : [],
  );
  const highest = (limit: keyof MappingLimits) =>
    users.length === 0 ? DEFAULT_LIMITS[limit] : Math.max(...users.map((limits) => limits[limit]));
  return {
    patternLength: highest('patternLength'),
    recordRows: highest('recordRows'),
    combinations: highest('combinations'),
  };
}

/** Problems of mappings that their schema cannot find, including failed mapping tests, and how many tests passed. */
export async function checkMappings(
  mappings: readonly MappingFile[],
  jobs: readonly Job[],
): Promise<{ readonly problems: readonly ConfigurationProblem[]; readonly passed: number }> {
  const problems: ConfigurationProblem[] = [];
  let passed = 0;
  for (const mapping of mappings) {
    const limits = limitsFor(mapping, jobs);
    const wrong = checkMapping(mapping.spec, limits);
    problems.push(...wrong.map(({ path, message }) => ({ place: mapping.placeOf(path), message })));
    if (wrong.length > 0) continue;
    for (const { name, problems: failures } of await runMappingTests(mapping.spec, parseCsvText, limits)) {
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

/** Reads the CSV of a mapping test as an import reads a file. */
const parseCsvText: ParseCsv = async (text, delimiter) => {
  const table = await readCsv(Readable.from([Buffer.from(text)]), { name: 'rows', delimiter });
  const rows: Row[] = [];
  for await (const batch of table.batches()) rows.push(...batch);
  return { header: table.header, rows };
};
