import pc from 'picocolors';
import { checkWorkspace } from '../config/check-workspace.ts';
import { openWorkspace } from '../config/workspace.ts';
import { checkMapping } from '../mapping/compile-mapping.ts';
import { runMappingTests } from '../mapping/run-mapping-tests.ts';
import { type ConfigurationProblem, formatPlace } from '../model/errors.ts';
import type { Invocation } from './invocation.ts';
import { parseCsvText } from './parse-csv-text.ts';

const EXIT_CONFIGURATION = 2;

/** Validates everything in the workspace and runs the tests of its mappings, offline. */
export async function check({ terminal, directory }: Invocation): Promise<number> {
  const colors = pc.createColors(terminal.colors);
  const checked = checkWorkspace(openWorkspace(directory, process.env));
  const problems: ConfigurationProblem[] = [...checked.problems];
  let passed = 0;
  for (const mapping of checked.mappings) {
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
  const print = (label: string, { place, message }: ConfigurationProblem) =>
    terminal.out(`${label} ${formatPlace(place)}: ${message}\n`);
  for (const problem of problems) print(colors.red('error  '), problem);
  for (const warning of checked.warnings) print(colors.yellow('warning'), warning);

  const count = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`;
  const looked = [
    count(checked.stores.length, 'store'),
    count(checked.jobs.length, 'job'),
    count(checked.mappings.length, 'mapping'),
  ].join(', ');
  terminal.out(`Checked ${looked}; ${count(passed, 'mapping test')} passed.\n`);
  if (problems.length > 0) {
    terminal.out(colors.red(`${count(problems.length, 'error')} to mend before a run.\n`));
    return EXIT_CONFIGURATION;
  }
  const [job] = checked.jobs;
  terminal.out(colors.green('All is well.\n'));
  if (job?.kind === 'import') terminal.out(`Next: storeferry plan ${job.name}\n`);
  return 0;
}
