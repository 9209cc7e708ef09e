import { existsSync } from 'node:fs';
import { join, matchesGlob, normalize } from 'node:path';
import pc from 'picocolors';
import { filesNamed, mappingsNamed } from '../../config/job/job.ts';
import {
  checkWorkspace,
  readWorkspace,
  type Workspace,
  type WorkspaceCheck,
} from '../../config/workspace.ts';
import { guardText, guardWords } from '../../model/guard.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { jobFile } from '../../model/run.ts';
import { limitsText, wavesText } from '../../model/safety-limits.ts';
import {
  type ConfigurationProblem,
  errorCode,
  formatPlace,
  UsageError,
} from '../../model/storeferry-error.ts';
import { openRunQueue, type RunQueue } from '../../queue/run-queue.ts';
import { type Finding, findingsText } from '../../report/document-text.ts';
import { checkMappings, extensionsFileOf } from '../../run/inputs/open-mapping.ts';
import { type CheckedWorkspace, type Facts, type OnlineCheck, PROBES_FOLDER } from '../../run/run-context.ts';
import { openState } from '../../state/open-state.ts';
import { counted, listed, printable, shellWord } from '../../text/printable.ts';
import { defineCommand, flag, type Invocation, printJson, text } from '../define-command.ts';
import { newRunId } from '../open-context.ts';
import { packageVersion } from '../package-version.ts';
import { pathFromHere, placeFromHere, withProgram } from '../typed-program.ts';
import { withJsonError } from '../with-json-result.ts';

const START = 'Start one: storeferry worker';

/** Whether workers are running, which schedules and `enqueue` need. */
const workersCheck: OnlineCheck = (checked) => {
  const { settings, jobs } = checked;
  const scheduled = jobs.filter(({ schedule }) => schedule !== undefined).map(({ name }) => name);
  if (settings === undefined || (settings.redisUrl === undefined && scheduled.length === 0)) return [];
  const { redisUrl } = settings;
  return [{ subject: 'workers', look: async () => [await findWorkers(checked, redisUrl, scheduled)] }];
};

async function findWorkers(
  { dir, newRunId }: CheckedWorkspace,
  redisUrl: string | undefined,
  scheduled: readonly string[],
): Promise<Facts> {
  const folder = join(dir, '.storeferry');
  // A check creates no state; and queues wait for Redis without a limit, so they are opened only when it answers.
  if (redisUrl === undefined && !existsSync(join(folder, 'state.db'))) return noWorkerFacts(0, scheduled);
  if (redisUrl !== undefined && !(await isRedisReachable(redisUrl)))
    return { verdict: 'not-checked', message: 'workers are found through Redis, which does not answer' };
  await using state = await openState({ redisUrl, dir: folder, withoutThread: true });
  await using queue = await openRunQueue({ redisUrl, context: { state, newRunId } });
  return await judgeWorkers(queue, scheduled);
}

async function isRedisReachable(redisUrl: string) {
  const { checkRedisServer } = await import('../../state/redis/redis-connection.ts');
  return (await checkRedisServer(redisUrl).catch(() => undefined)) !== undefined;
}

async function judgeWorkers(queue: RunQueue, scheduled: readonly string[]): Promise<Facts> {
  const count = await queue.workers();
  if (count > 0) return { verdict: 'ok', message: `${count} running` };
  return noWorkerFacts((await queue.waiting()).length, scheduled);
}

function noWorkerFacts(waiting: number, scheduled: readonly string[]): Facts {
  const effects = [
    ...(scheduled.length === 0 ? [] : [`so the schedules of ${scheduled.join(', ')} are inactive`]),
    ...(waiting === 0 ? [] : [`and ${waiting === 1 ? '1 run waits' : `${waiting} runs wait`} for one`]),
  ];
  return effects.length === 0
    ? { verdict: 'ok', message: 'none is running, and no job has a schedule' }
    : { verdict: 'warning', message: ['none is running', ...effects].join(', '), hint: START };
}

const EXIT_FAILED = 1;
const EXIT_CONFIGURATION = 2;

/** `storeferry check`: validates everything in the workspace and runs the tests of its mappings. */
export const checkCommand = defineCommand({
  arguments: {},
  options: {
    online: flag('also try stores, keys, sources, Redis and disk'),
    changed: text(
      'ref',
      'only the jobs and mappings that differ from the merge base of this git ref and HEAD, such as origin/main',
    ),
  },
  notes: `--changed takes jobs whose file, mapping, source, crosswalk or store differs, in commits, in the working tree or as a new
file; of a mapping also its lookups and the extensions that it names. Tests of other mappings are not run, and their stores and sources not tried; errors in
any file are still errors, because a change may have caused them. Where there is no git, or no such ref, it is refused.`,
  examples: ['check', '-C shop check --online', 'check --changed origin/main --json'],
  json: 'problems, warnings and findings with their places, what was checked, guards and waves of jobs; with `--changed` also `base`, the commit compared with',
  run: (invocation, _, { online, changed, json }) =>
    withJsonError(invocation, json, async () => {
      const found = await findAll(invocation, online, changed);
      if (json) printJson(invocation.terminal, checkSummary(found));
      else printCheck(invocation, found, online);
      return exitCodeOf(found);
    }),
});

/** Everything that a check finds. */
type Found = Awaited<ReturnType<typeof findAll>>;

async function findAll(
  { directory, program, interruptSignal }: Invocation,
  online: boolean,
  ref: string | undefined,
) {
  const workspace = readWorkspace(directory, process.env);
  const all = checkWorkspace(workspace, (file) => shellWord(pathFromHere(directory, file)));
  const changes = ref === undefined ? undefined : await changedFiles(workspace.dir, ref);
  const checked = changes === undefined ? all : { ...all, ...changedParts(all, changes.files) };
  const mappings = await checkMappings(checked.mappings, checked.jobs);
  const checks = online || hasProbes(checked) ? await loadChecks(online) : [];
  const found = checks.length > 0 ? await lookAround(workspace, checked, checks, interruptSignal()) : [];
  return {
    checked: { ...checked, warnings: [...checked.warnings, ...mappings.warnings] },
    problems: [...checked.problems, ...mappings.problems].toSorted(inFileOrder),
    /** Number of mapping tests that passed. */
    passed: mappings.passed,
    findings: found.map((finding) =>
      finding.hint === undefined ? finding : { ...finding, hint: withProgram(finding.hint, program) },
    ),
    /** With --changed: the commit that it compares with. */
    base: changes?.base,
  };
}

/**
 * The files under a folder, relative to it, that differ from the merge base of a git ref and HEAD: in commits, in the working tree, or
 * because they are new. UsageError where there is no git, no repository or no such ref.
 */
async function changedFiles(
  folder: string,
  ref: string,
): Promise<{ readonly base: string; readonly files: ReadonlySet<string> }> {
  const [{ execFile }, { promisify }] = await Promise.all([
    import('node:child_process'),
    import('node:util'),
  ]);
  const git = async (...args: readonly string[]) => {
    try {
      return (await promisify(execFile)('git', ['-C', folder, ...args], { maxBuffer: MAX_GIT_BYTES })).stdout;
    } catch (cause) {
      const isAbsent = errorCode(cause) === 'ENOENT';
      const words = cause instanceof Error && 'stderr' in cause ? printable(String(cause.stderr)).trim() : '';
      throw new UsageError(
        isAbsent
          ? '--changed needs git, which is not installed.'
          : `--changed ${printable(ref)}: ${words || 'git failed.'}`,
        {
          cause,
          hint: 'Name a ref that this clone has, with its history (fetch-depth: 0), or leave out --changed to check everything.',
        },
      );
    }
  };
  const commit = (await git('rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`)).trim();
  const base = (await git('merge-base', commit, 'HEAD')).trim();
  const listed = await Promise.all([
    git('diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--relative', base, '--', '.'),
    git('ls-files', '--others', '--exclude-standard', '-z', '--', '.'),
  ]);
  return {
    base,
    files: new Set(
      listed
        .join('')
        .split('\0')
        .filter((name) => name !== ''),
    ),
  };
}

const MAX_GIT_BYTES = 64 * 1_024 * 1_024;

/** The jobs and mappings that these changed files, relative to the workspace, concern: all jobs for stores.yaml. */
function changedParts(
  { jobs, mappings }: WorkspaceCheck,
  files: ReadonlySet<string>,
): Pick<WorkspaceCheck, 'jobs' | 'mappings'> {
  const isChanged = (path: string | undefined) => {
    if (path === undefined) return false;
    const named = normalize(path);
    return [...files].some(
      (file) => file === named || file.startsWith(`${named}/`) || matchesGlob(file, named),
    );
  };
  const ownChanged = mappings.filter(
    ({ name, spec, lookupPlaces }) =>
      files.has(`mappings/${name}.yaml`) ||
      isChanged(extensionsFileOf(spec)) ||
      [...lookupPlaces.values()].some(({ path }) => isChanged(path)),
  );
  const changedJobs = jobs.filter((job) => {
    if (files.has('stores.yaml') || files.has(jobFile(job.name))) return true;
    if (job.kind === 'export') return false;
    const named = mappingsNamed(job);
    return (
      ownChanged.some(({ name }) => named.includes(name)) ||
      filesNamed(job).some(({ path }) => isChanged(path))
    );
  });
  const used = new Set(changedJobs.flatMap((job) => (job.kind === 'import' ? mappingsNamed(job) : [])));
  return {
    jobs: changedJobs,
    mappings: mappings.filter((one) => ownChanged.includes(one) || used.has(one.name)),
  };
}

function findingsOf({ findings }: Found, verdict: Finding['verdict']) {
  return findings.filter((finding) => finding.verdict === verdict).length;
}

function exitCodeOf(found: Found): number {
  if (found.problems.length > 0) return EXIT_CONFIGURATION;
  return findingsOf(found, 'error') > 0 ? EXIT_FAILED : 0;
}

/** The object that `check --json` prints; files are relative to the workspace. */
function checkSummary(found: Found): object {
  const { checked, problems, passed, findings } = found;
  const plain = ({ place: { file, line, column }, message }: ConfigurationProblem) => ({
    file,
    line: line ?? null,
    column: column ?? null,
    message,
  });
  return {
    ok: exitCodeOf(found) === 0,
    base: found.base,
    problems: problems.map(plain),
    warnings: checked.warnings.toSorted(inFileOrder).map(plain),
    unset: checked.unset,
    stores: checked.stores.map(({ name }) => name),
    jobs: checked.jobs.map(({ name }) => name),
    mappings: checked.mappings.map(({ name }) => name),
    guards: importsOf(checked).flatMap(({ name: job, guards = [] }) =>
      guards.map((guard) => ({ job, action: guard.action, rule: guardText(guard) })),
    ),
    waves: importsOf(checked).flatMap(({ name: job, apply }) =>
      apply === undefined ? [] : [{ job, rule: wavesText(apply) }],
    ),
    mappingTests: { passed },
    findings: findings.map(({ subject, verdict, message, hint = null }) => ({
      subject,
      verdict,
      message,
      hint,
    })),
  };
}

function printCheck({ terminal, directory, program }: Invocation, found: Found, online: boolean) {
  const { checked, problems, passed, findings, base } = found;
  const colors = pc.createColors(terminal.colors);
  const lines = [
    ...problems.map((problem) => ({ label: colors.red('error  '), ...problem })),
    ...checked.warnings.map((problem) => ({ label: colors.yellow('warning'), ...problem })),
  ];
  for (const { label, place, message } of lines.toSorted(inFileOrder))
    terminal.out(`${label} ${printable(`${formatPlace(placeFromHere(directory, place))}: ${message}`)}\n`);

  const looked = [
    counted(checked.stores.length, 'store'),
    counted(checked.jobs.length, 'job'),
    counted(checked.mappings.length, 'mapping'),
  ].join(', ');
  terminal.out(`Checked ${looked}; ${counted(passed, 'mapping test')} passed.\n`);
  if (base !== undefined) {
    const names = checked.jobs.map(({ name }) => name);
    terminal.out(`Changed since ${base.slice(0, 12)}: ${names.length === 0 ? 'no job' : listed(names)}.\n`);
  }

  for (const line of safetyLines(checked)) terminal.out(`${printable(line)}\n`);

  if (findings.length > 0) terminal.out(`\n${findingsText(findings, terminal)}\n`);
  const failed = findingsOf(found, 'error');
  const warned = checked.warnings.length + findingsOf(found, 'warning');
  if (problems.length > 0)
    terminal.out(colors.red(`${counted(problems.length, 'error')} to correct before a run.\n`));
  else if (failed > 0)
    terminal.out(colors.red(`${counted(failed, 'problem')} outside the workspace's files.\n`));
  else if (checked.unset.length > 0)
    terminal.out(`The files are valid; set ${checked.unset.join(', ')} in .env or in the environment.\n`);
  else {
    terminal.out(
      warned === 0
        ? colors.green('No problems found.\n')
        : colors.yellow(`A run can start; ${counted(warned, 'warning')} above.\n`),
    );
    for (const command of nextCommands(found, online)) terminal.out(`Next: ${program} ${command}\n`);
  }
}

function importsOf({ jobs }: WorkspaceCheck) {
  return jobs.filter((job) => job.kind === 'import');
}

/** The safety limits of import jobs, of which jobs with equal limits share a line; then their guards and waves. */
function safetyLines(checked: WorkspaceCheck): string[] {
  const imports = importsOf(checked);
  const byLimits = Map.groupBy(imports, (job) => limitsText(job.safety, job.import, job.mode));
  return [
    ...[...byLimits].map(
      ([limits, alike]) => `Safety limits of ${listed(alike.map(({ name }) => name))}: ${limits}`,
    ),
    ...imports.flatMap(({ name, guards = [] }) =>
      guards.map((guard) => `Guard of ${name}: ${guardWords(guard)}`),
    ),
    ...imports.flatMap(({ name, apply }) =>
      apply === undefined ? [] : [`Waves of ${name}: ${wavesText(apply)}`],
    ),
  ];
}

/** In the order in which a person corrects them: file by file, from top to bottom. */
function inFileOrder({ place: a }: ConfigurationProblem, { place: b }: ConfigurationProblem) {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** Whether probes of stores are kept on this machine, which can be shown without a network. */
function hasProbes({ settings }: WorkspaceCheck) {
  return settings?.artifacts.kind === 'folder' && existsSync(join(settings.artifacts.path, PROBES_FOLDER));
}

/** The code is loaded only where it is needed. */
async function loadChecks(online: boolean): Promise<readonly OnlineCheck[]> {
  const { ONLINE_CHECKS, probeCheck } = await import('../../run/online/online-checks.ts');
  return online ? [...ONLINE_CHECKS, workersCheck] : [probeCheck];
}

/** Checks everything outside the files that can be checked, even if some of them are invalid; without `--online` kept probes alone. */
async function lookAround(
  workspace: Workspace,
  checked: WorkspaceCheck,
  checks: readonly OnlineCheck[],
  signal: AbortSignal,
) {
  const { runOnlineChecks } = await import('../../run/online/online-checks.ts');
  const unsetOf = (store: string) => workspace.inspection.store(store)?.unset.map(({ name }) => name) ?? [];
  const around = { dir: workspace.dir, ...checked, unsetOf, version: packageVersion(), newRunId };
  return await runOnlineChecks(checks, around, signal);
}

/** The next commands. */
function nextCommands({ checked: { jobs }, base }: Found, online: boolean) {
  const first = (kind: 'import' | 'export') => jobs.find((job) => job.kind === kind)?.name;
  const imported = first('import');
  const planned = jobs.find((job) => job.kind === 'import' && job.source.watch === undefined)?.name;
  const exported = first('export');
  if (imported === undefined && exported === undefined) return base === undefined ? ['init'] : [];
  return withoutAbsent([
    !online && 'check --online',
    // A job that watches a folder has no file to plan until a worker takes one.
    planned === undefined ? imported !== undefined && 'worker' : `plan ${planned}`,
    exported !== undefined && `run ${exported}`,
  ]);
}
