import pc from 'picocolors';
import { checkWorkspace, type WorkspaceCheck } from '../config/check-workspace.ts';
import type { Settings } from '../config/settings.ts';
import { openWorkspace, type Workspace } from '../config/workspace.ts';
import { ConfigurationError, type ConfigurationProblem, formatPlace } from '../model/errors.ts';
import { limitsText } from '../model/safety-limits.ts';
import { workersCheck } from '../queue/health/workers-check.ts';
import { findingsText } from '../report/findings-text.ts';
import { printable } from '../report/wording/printable.ts';
import { counted, listed } from '../report/wording/words.ts';
import { checkMappings } from '../run/mapping/check-mappings.ts';
import type { Finding } from '../run/online/finding.ts';
import { runChecks } from '../run/online/run-checks.ts';
import { workspaceChecks } from '../run/online/workspace-checks.ts';
import { interruptSignal } from './interrupt.ts';
import type { Invocation } from './invocation.ts';
import { newRunId } from './open-context.ts';
import { withProgram } from './typed-program.ts';
import { packageVersion } from './version.ts';

const EXIT_FAILED = 1;
const EXIT_CONFIGURATION = 2;

/** Validates everything in the workspace and runs the tests of its mappings; `online` also what its jobs need outside it. */
export async function check(
  { terminal, directory, program }: Invocation,
  { online }: { readonly online?: true } = {},
): Promise<number> {
  const colors = pc.createColors(terminal.colors);
  const workspace = openWorkspace(directory, process.env);
  const checked = checkWorkspace(workspace);
  const mappings = await checkMappings(checked.mappings, checked.jobs);
  const problems = [...checked.problems, ...mappings.problems];
  const print = (label: string, { place, message }: ConfigurationProblem) =>
    terminal.out(`${label} ${printable(`${formatPlace(place)}: ${message}`)}\n`);
  const told = [
    ...problems.map((problem) => ({ label: colors.red('error  '), problem })),
    ...checked.warnings.map((problem) => ({ label: colors.yellow('warning'), problem })),
  ];
  for (const { label, problem } of told.toSorted((a, b) => inFileOrder(a.problem, b.problem))) {
    print(label, problem);
  }

  const looked = [
    counted(checked.stores.length, 'store'),
    counted(checked.jobs.length, 'job'),
    counted(checked.mappings.length, 'mapping'),
  ].join(', ');
  terminal.out(`Checked ${looked}; ${counted(mappings.passed, 'mapping test')} passed.\n`);

  for (const line of safetyLines(checked)) terminal.out(`${printable(line)}\n`);

  const found = online === true ? await lookOutside(workspace, checked) : [];
  const findings = found.map((finding) => ({
    ...finding,
    hint: finding.hint === undefined ? undefined : withProgram(finding.hint, program),
  }));
  if (findings.length > 0) {
    const text = findingsText(findings, { colors: terminal.colors, width: terminal.width });
    terminal.out(`\n${text}\n`);
  }
  const failed = findings.filter(({ verdict }) => verdict === 'error').length;
  const unfinished = checked.unset.length > 0;
  if (problems.length > 0) {
    terminal.out(colors.red(`${counted(problems.length, 'error')} to mend before a run.\n`));
    return EXIT_CONFIGURATION;
  }
  if (failed > 0) {
    terminal.out(colors.red(`${counted(failed, 'thing')} to mend outside the workspace's files.\n`));
    return EXIT_FAILED;
  }
  if (unfinished) {
    terminal.out(`The files are right; set ${checked.unset.join(', ')} in .env or in the environment.\n`);
    return 0;
  }
  terminal.out(colors.green('All is well.\n'));
  for (const command of nextCommands(checked, online === true)) terminal.out(`Next: ${program} ${command}\n`);
  return 0;
}

/** What stops the runs of each import job, jobs of the same limits together. */
function safetyLines({ jobs }: WorkspaceCheck): string[] {
  const imports = jobs.filter((job) => job.kind === 'import');
  const byLimits = Map.groupBy(imports, (job) => limitsText(job.safety, job.import, job.mode));
  return [...byLimits].map(
    ([limits, alike]) => `Safety limits of ${listed(alike.map(({ name }) => name))}: ${limits}`,
  );
}

/** A person mends one file after the other, from top to bottom. */
function inFileOrder({ place: a }: ConfigurationProblem, { place: b }: ConfigurationProblem): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** Looks at all that can be looked at, even where the files are not all right. */
async function lookOutside(workspace: Workspace, found: WorkspaceCheck): Promise<Finding[]> {
  const settings = settingsOf(workspace);
  const checks = workspaceChecks({
    dir: workspace.dir,
    found,
    unsetOf: (store) => workspace.inspection.store(store)?.unset.map(({ name }) => name) ?? [],
    settings,
    version: packageVersion(),
    newRunId,
  });
  const scheduled = found.jobs.filter(({ schedule }) => schedule !== undefined).map(({ name }) => name);
  if (settings?.redisUrl !== undefined) checks.push(workersCheck(settings.redisUrl, scheduled));
  return await runChecks(
    checks,
    interruptSignal(() => {}),
  );
}

/** What is wrong with them is among the problems of the workspace. */
function settingsOf(workspace: Workspace): Settings | undefined {
  try {
    return workspace.settings();
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** What to type next: each kind of job has its own way to begin. */
function nextCommands({ jobs }: WorkspaceCheck, online: boolean): string[] {
  const first = (kind: 'import' | 'export') => jobs.find((job) => job.kind === kind)?.name;
  const imported = first('import');
  const exported = first('export');
  if (imported === undefined && exported === undefined) return ['init'];
  return [
    ...(online ? [] : ['check --online']),
    ...(imported === undefined ? [] : [`plan ${imported}`]),
    ...(exported === undefined ? [] : [`run ${exported}`]),
  ];
}
