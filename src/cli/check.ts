import pc from 'picocolors';
import { checkWorkspace, type WorkspaceCheck } from '../config/check-workspace.ts';
import type { Settings } from '../config/settings.ts';
import { openWorkspace, type Workspace } from '../config/workspace.ts';
import { ConfigurationError, type ConfigurationProblem, formatPlace } from '../model/errors.ts';
import { limitsText } from '../model/safety-limits.ts';
import { workersCheck } from '../queue/workers-check.ts';
import { findingsText } from '../report/document-text.ts';
import { counted, listed, printable } from '../report/printable.ts';
import { checkMappings } from '../run/inputs/check-mappings.ts';
import type { Finding } from '../run/online/finding.ts';
import { runChecks } from '../run/online/run-checks.ts';
import { lastChecks, workspaceChecks } from '../run/online/workspace-checks.ts';
import { interruptSignal } from './interrupt-signal.ts';
import type { Invocation } from './invocation.ts';
import { newRunId } from './open-context.ts';
import { packageVersion } from './package-version.ts';
import { placeFromHere, withProgram } from './typed-program.ts';
import { withJsonError } from './with-json-result.ts';

const EXIT_FAILED = 1;
const EXIT_CONFIGURATION = 2;

interface CheckOptions {
  readonly online?: true;
  readonly json?: true;
}

/** Validates everything in the workspace and runs the tests of its mappings; `online` also what its jobs need outside it. */
export async function check(invocation: Invocation, { online, json }: CheckOptions = {}): Promise<number> {
  return await withJsonError(invocation, json === true, async () => {
    const found = await lookThrough(invocation, online === true);
    if (json !== true) return printCheck(invocation, found, online === true);
    invocation.terminal.out(`${JSON.stringify(checkSummary(found))}\n`);
    return exitCodeOf(found);
  });
}

/** All that a check finds. */
interface Found {
  readonly checked: WorkspaceCheck;
  readonly problems: readonly ConfigurationProblem[];
  /** Tests of mappings that passed. */
  readonly passed: number;
  readonly findings: readonly Finding[];
}

async function lookThrough({ directory, program }: Invocation, online: boolean): Promise<Found> {
  const workspace = openWorkspace(directory, process.env);
  const checked = checkWorkspace(workspace);
  const mappings = await checkMappings(checked.mappings, checked.jobs);
  const found = online ? await lookOutside(workspace, checked) : [];
  return {
    checked,
    problems: [...checked.problems, ...mappings.problems].toSorted(inFileOrder),
    passed: mappings.passed,
    findings: found.map((finding) =>
      finding.hint === undefined ? finding : { ...finding, hint: withProgram(finding.hint, program) },
    ),
  };
}

function failedFindings({ findings }: Found): number {
  return findings.filter(({ verdict }) => verdict === 'error').length;
}

function exitCodeOf(found: Found): number {
  if (found.problems.length > 0) return EXIT_CONFIGURATION;
  return failedFindings(found) > 0 ? EXIT_FAILED : 0;
}

/** The object that `check --json` prints; files are relative to the workspace. */
function checkSummary(found: Found): object {
  const { checked, problems, passed, findings } = found;
  const plain = ({ place: { file, line, column }, message }: ConfigurationProblem) => ({
    ...{ file, line: line ?? null, column: column ?? null, message },
  });
  return {
    ok: exitCodeOf(found) === 0,
    problems: problems.map(plain),
    warnings: checked.warnings.toSorted(inFileOrder).map(plain),
    unset: checked.unset,
    stores: checked.stores.map(({ name }) => name),
    jobs: checked.jobs.map(({ name }) => name),
    mappings: checked.mappings.map(({ name }) => name),
    mappingTests: { passed },
    findings: findings.map(({ subject, verdict, message, hint = null }) => ({
      subject,
      verdict,
      message,
      hint,
    })),
  };
}

function printCheck({ terminal, directory, program }: Invocation, found: Found, online: boolean): number {
  const { checked, problems, passed, findings } = found;
  const colors = pc.createColors(terminal.colors);
  const print = (label: string, { place, message }: ConfigurationProblem) =>
    terminal.out(`${label} ${printable(`${formatPlace(placeFromHere(directory, place))}: ${message}`)}\n`);
  const lines = [
    ...problems.map((problem) => ({ label: colors.red('error  '), problem })),
    ...checked.warnings.map((problem) => ({ label: colors.yellow('warning'), problem })),
  ];
  for (const { label, problem } of lines.toSorted((a, b) => inFileOrder(a.problem, b.problem))) {
    print(label, problem);
  }

  const looked = [
    counted(checked.stores.length, 'store'),
    counted(checked.jobs.length, 'job'),
    counted(checked.mappings.length, 'mapping'),
  ].join(', ');
  terminal.out(`Checked ${looked}; ${counted(passed, 'mapping test')} passed.\n`);

  for (const line of safetyLines(checked)) terminal.out(`${printable(line)}\n`);

  if (findings.length > 0) {
    const text = findingsText(findings, { colors: terminal.colors, width: terminal.width });
    terminal.out(`\n${text}\n`);
  }
  const failed = failedFindings(found);
  const unfinished = checked.unset.length > 0;
  if (problems.length > 0) {
    terminal.out(colors.red(`${counted(problems.length, 'error')} to mend before a run.\n`));
    return exitCodeOf(found);
  }
  if (failed > 0) {
    terminal.out(colors.red(`${counted(failed, 'thing')} to mend outside the workspace's files.\n`));
    return exitCodeOf(found);
  }
  if (unfinished) {
    terminal.out(`The files are right; set ${checked.unset.join(', ')} in .env or in the environment.\n`);
    return 0;
  }
  const warned = checked.warnings.length + findings.filter(({ verdict }) => verdict === 'warning').length;
  terminal.out(
    warned === 0
      ? colors.green('All is well.\n')
      : colors.yellow(`Nothing prevents a run; ${counted(warned, 'warning')} above.\n`),
  );
  for (const command of nextCommands(checked, online)) terminal.out(`Next: ${program} ${command}\n`);
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
  const signal = interruptSignal(() => {});
  const outside = await runChecks(checks, signal);
  return [...outside, ...(await runChecks(lastChecks(workspace.path('.storeferry'), settings), signal))];
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
