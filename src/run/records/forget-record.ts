import { buffer } from 'node:stream/consumers';
import { READING_FILES } from '../../export/reading/read-items.ts';
import { copyNames, isInCopy } from '../../export/writing/export-file.ts';
import { isJsonObject, member } from '../../model/json-object.ts';
import { comparedEmail } from '../../model/operation.ts';
import { planSchema } from '../../model/plan.ts';
import type { RowSpan } from '../../model/row.ts';
import { isSameTarget, type Run, UNFINISHED } from '../../model/run.ts';
import { LockedError, UsageError } from '../../model/storeferry-error.ts';
import {
  HELD_FILE,
  PLAN_FILE,
  REJECTIONS_FILE,
  readPlan,
  readRejections,
  replaceHeld,
  writePlan,
} from '../../plan/plan-file.ts';
import { LINE_COLUMN, REJECTS_WORKBOOK, UNTOUCHED_FILE } from '../../rejects/rejects-file.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { jobLockName, targetLockName } from '../../state/state.ts';
import { capitalise, counted, listed } from '../../text/printable.ts';
import { exportFolder } from '../export/export-run.ts';
import { supersedeAndDiscard } from '../import/continue-or-begin.ts';
import { listLiveRuns } from '../report/read-stored-report.ts';
import type { RunContext } from '../run-context.ts';
import { supersede } from '../run-pipeline.ts';
import { forgetScanned } from '../scan-contacts.ts';
import type { FoundRecord } from './record-history.ts';

/** What was removed of a record that is forgotten. */
export type Forgotten = Awaited<ReturnType<typeof forgetRecord>>;

/**
 * Removes what the state and the files of runs have of the values of a contact: its body in the ledger, its history, its rows
 * in the files of rejects, the words of the store about it. Its mark stays, so that the next run sends it only if it has
 * changed. UsageError where nothing has the key, or while a run of its store is running; LockedError while another process
 * writes there.
 */
export async function forgetRecord(context: RunContext, { target, key }: FoundRecord) {
  const { state, artifacts, workspaceDir } = context;
  const name = targetLockName(target);
  const lock = await state.locks.tryAcquire(name, { job: 'forget', run: 'forget' });
  if ('heldBy' in lock) throw busy(lock.heldBy?.run);
  await using _held = lock;
  const live = (await listLiveRuns(context, {})).filter((run) => isSameTarget(run, target));
  const running = live.find(({ status }) => status === 'running');
  if (running !== undefined) throw busy(running.id);

  const ledger = state.ledger(target);
  const [[versions = []], [body]] = await Promise.all([
    state.history(target).versions([key]),
    ledger.bodies([key]),
  ]);
  const bodies = [body, ...versions.flatMap((version) => [version.body, version.before])];
  const isTheirs = matcherOf(key, bodies);
  const isKnown = body !== undefined || versions.length > 0;
  // Numbers of orders may be those of contacts.
  const { superseded, files, unsearched } = await cleanExports(
    context,
    matcherOf(key.includes('@') ? key : '', bodies),
  );
  let rejectedRows = 0;
  for (const run of live) {
    const folder = artifacts.run(run.id);
    const lines = await linesOf(context, run, key);
    // Its files have every row of the source.
    if (
      (run.status === 'planned' || run.status === 'stopped' || UNFINISHED.includes(run.status)) &&
      (isKnown || lines.size > 0 || (await names(folder, key, isTheirs)))
    ) {
      await state.runs.update(run.id, { discarded: 'forgotten' });
      await supersedeAndDiscard(context, run);
      superseded.push(run.id);
    }
    const removed = await cleanFolder(folder, key, isTheirs, lines);
    rejectedRows += removed.rows;
    files.push(...removed.files.map((file) => `${run.id}/${file}`));
    await state.runs.forgetRefusals(run, key);
  }
  const scanned = await forgetScanned(
    workspaceDir,
    (id, email) => id === key || isTheirs(Buffer.from(email).toString('latin1')),
  );
  const noted = scanned > 0;
  // Last: what it has shows which rows are to be removed, also when this is repeated after a failure.
  const erased = await ledger.forget(key);
  // What an earlier attempt removed may still be on disk.
  if (erased && !isKnown && !noted && rejectedRows + files.length + superseded.length === 0)
    throw unknownContact(key, unsearched);
  return {
    /** Whether the store had acknowledged values of it. */
    acknowledged: body !== undefined,
    /** Acknowledged versions, the newest included. */
    versions: versions.length,
    /** Rows of rejects files. */
    rejectedRows,
    /** Files of runs that named the record and had nothing else to keep, with their runs. */
    files,
    /** Kept copies of exports that cannot be searched. */
    unsearched,
    /** Runs whose plan or remainder can no longer be sent, because their files had the whole source, or what they read of a store. */
    superseded,
    /** Whether an interrupted scan of the store had noted it. */
    noted,
    /** False where another process reads the state: the log of the database has the values until this is repeated. */
    erased,
  };
}

/** What is removed, what stays in the state, and what else ends: a sentence each, as long as a line of help. */
export const FORGETS = [
  'Removes the acknowledged values, all versions of the history, and the rows of rejects files.',
  'Removes messages of the store about the contact.',
  'Removes kept copies of exported files that name it: `--since` cannot write these again.',
  'The fingerprint stays, so the next run sends the contact only if it has changed.',
  'Discards waiting plans and the rest of unfinished runs of contacts of this store: their files have the whole source.',
];

/** What no command can remove. */
export function remainsOf({ unsearched }: Pick<Forgotten, 'unsearched'>): string[] {
  return unsearched.length === 0 ? REMAINS : [copiesLeft(unsearched), ...REMAINS];
}

function copiesLeft(unsearched: readonly string[]) {
  return `copies of exports were not searched, because their content is packed: ${listed(unsearched)}`;
}

/** The same before it is known what is there. */
export const REMAINS = [
  'the contact in the store itself, and in the source files: while a source has it, a run that finds it changed sends and keeps it again',
  'files of exports, crosswalks and look-ups, in the workspace and elsewhere, and uploads that a running dashboard has not sent yet, until it ends or a contact is forgotten there',
  'backups of the state and of the artifacts, mailed and downloaded reports, logs, and the files of Redis (append-only file, snapshot) until Redis writes them anew (BGREWRITEAOF, BGSAVE)',
  'rejected rows that have neither its key nor its address or phone number',
];

/** Removes copies of exported files that name somebody, and what was read and not written. LockedError while an export is at work. */
async function cleanExports(context: RunContext, isTheirs: Matcher) {
  const { state, artifacts } = context;
  const superseded: string[] = [];
  const files: string[] = [];
  const unsearched: string[] = [];
  const runs = await state.runs.list({ kinds: ['export'] });
  for (const [job, ofJob] of Map.groupBy(runs, (run) => run.job)) {
    const lock = await state.locks.tryAcquire(jobLockName(job), { job: 'forget', run: 'forget' });
    if ('heldBy' in lock) throw busy(lock.heldBy?.run);
    await using _held = lock;
    for (const run of ofJob) {
      const folder = artifacts.run(run.id);
      await folder.removeIncomplete?.();
      const readings = (await folder.list()).filter((name) => READING_FILES.includes(name));
      const found = await Promise.all(readings.map(async (name) => isTheirs(await readLatin1(folder, name))));
      if (!found.includes(true)) continue;
      if (run.status === 'running' || UNFINISHED.includes(run.status)) {
        await supersede(context, run);
        superseded.push(run.id);
      }
      await folder.remove(readings);
      files.push(...readings.map((name) => `${run.id}/${name}`));
    }
    const kept = exportFolder(context, { name: job });
    await kept.removeIncomplete?.();
    for (const name of await copyNames(kept)) {
      const isNamed = await isInCopy(kept, name, isTheirs).catch(() => undefined);
      if (isNamed === undefined) unsearched.push(`${kept.location}/${name}`);
      if (isNamed !== true) continue;
      await kept.remove([name]);
      files.push(`export-${job}/${name}`);
    }
  }
  return { superseded, files, unsearched };
}

/** What was removed, a sentence each. */
export function forgottenWords(forgotten: Forgotten): string[] {
  const { acknowledged, versions, rejectedRows, files, superseded, noted, erased } = forgotten;
  const parts = [
    ...(acknowledged ? ['its acknowledged values'] : []),
    `${counted(versions, 'version')} of its history`,
    `${counted(rejectedRows, 'rejected row')}`,
    `${counted(files.length, 'file')} of runs and exports${files.length === 0 ? '' : ` (${files.join(', ')})`}`,
    ...(noted ? ['the notes of an interrupted scan'] : []),
  ];
  return [
    `Removed: ${parts.join(', ')}.`,
    ...(superseded.length === 0
      ? []
      : [`Discarded the plans of ${superseded.join(', ')}: plan or run these jobs again.`]),
    ...(erased
      ? []
      : [
          'Not yet erased on disk: another process, such as a backup, reads the state database, whose log (state.db-wal) keeps the values meanwhile. Repeat it when that process has ended.',
        ]),
  ];
}

function unknownContact(key: string, unsearched: readonly string[]) {
  return new UsageError(
    `No contact has the key or address ${JSON.stringify(key)}: neither the ledger and its history nor the files of runs, nor copies of exports. Nothing was removed.`,
    {
      hint:
        unsearched.length === 0
          ? 'Check its spelling.'
          : `Check its spelling. ${capitalise(copiesLeft(unsearched))}.`,
    },
  );
}

function busy(run: string | undefined) {
  return run === undefined
    ? new LockedError('Another process writes to the store of this record.', { hint: 'Repeat it later.' })
    : new UsageError(`The run ${run} has not ended: it may write the values again.`, {
        hint: `Wait for it, or stop it: storeferry cancel ${run}`,
      });
}

/** A phone number with fewer digits may be a part of another number. */
const MIN_DIGITS = 7;

type Matcher = (text: string) => boolean;

/**
 * What beside a value shows that it is a part of another one: `ann@a.example` of `joann@a.example`, a number of a longer one. An escape
 * of JSON or of an address, and a country code, are no such part. An id counts only alone in its cell: the numbers of others have its
 * digits.
 */
const PART_OF_OTHER = {
  address: {
    before: /(?<!\\|\\u[\da-f]{3}|%[\da-f])[\p{L}\p{N}][._+-]{0,2}$/u,
    after: /^\.?[\p{L}\p{N}]/u,
  },
  number: { before: /(?<!\\u[\da-f]{3}|%[\da-f]|\+\d{0,2})\d$/, after: /^\d/ },
  id: { before: /[^>"',;|:[\s]\s?$/, after: /^\s?[^<"',;|\]}\s]/ },
};
const MAX_BESIDE = 8;

interface Needle {
  readonly value: string;
  readonly kind: keyof typeof PART_OF_OTHER;
}

function hasNeedle(text: string, { value, kind }: Needle) {
  const { before, after } = PART_OF_OTHER[kind];
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const end = at + value.length;
    if (!before.test(text.slice(Math.max(0, at - MAX_BESIDE), at)) && !after.test(text.slice(end, end + 2)))
      return true;
  }
  return false;
}

/** Whether a text, decoded as latin1, has an address or phone number of the bodies, or the key. */
function matcherOf(key: string, bodies: readonly (string | null | undefined)[]): Matcher {
  const values = bodies.flatMap((body) => {
    const parsed: unknown = body == null ? null : JSON.parse(body);
    return isJsonObject(parsed) ? [member(parsed, 'email'), member(parsed, 'phone')] : [];
  });
  const needles = [...values, key]
    .filter((value) => typeof value === 'string')
    .filter((value) => value.includes('@') || value.replaceAll(/\D/g, '').length >= MIN_DIGITS)
    .map((value): Needle => {
      const kind = value.includes('@') ? 'address' : value === key ? 'id' : 'number';
      return { value: comparedEmail(value), kind };
    });
  // A text in UTF-8 first; as latin1 it is what a spreadsheet may have saved.
  return (text) =>
    [Buffer.from(text, 'latin1').toString('utf8'), text].some((read) => {
      const compared = comparedEmail(read);
      return needles.some((needle) => hasNeedle(compared, needle));
    });
}

/** The `storeferry_line` of the rows that were rejected under this key. */
async function linesOf(
  { state, artifacts }: RunContext,
  run: Run,
  key: string,
): Promise<ReadonlySet<string>> {
  const folder = artifacts.run(run.id);
  const plan = await readPlan(folder).catch(() => undefined);
  if (plan === undefined) return new Set();
  const lines = new Set<string>();
  const add = (rejection: { readonly key: string | null; readonly spans: readonly RowSpan[] }) => {
    for (const { file, from, to } of rejection.key === key ? rejection.spans : []) {
      for (let line = from; line <= to; line++) {
        lines.add(plan.source.files.length > 1 ? `${plan.source.files[file]?.name}:${line}` : String(line));
      }
    }
  };
  for await (const batch of readRejections(folder)) batch.forEach(add);
  for await (const batch of state.runs.refusals(run.id)) batch.forEach(add);
  return lines;
}

/** Whether a file names the record. */
async function names(folder: RunFolder, key: string, isTheirs: Matcher) {
  for (const name of await folder.list()) {
    const text = (await readLatin1(folder, name)).replaceAll('\0', '');
    if (isTheirs(text) || text.includes(keyMember(key))) return true;
  }
  return false;
}

/** As latin1, so that every byte stays as it is. A spreadsheet may have saved two bytes for each character. */
async function readLatin1(folder: RunFolder, name: string) {
  return (await buffer(await folder.read(name))).toString('latin1');
}

/** The key in a line of JSON. */
function keyMember(key: string) {
  return `"key":${JSON.stringify(key)}`;
}

/** What shows which rows are those of the record. */
const EVIDENCE = [REJECTIONS_FILE, PLAN_FILE];

/**
 * Removes the rows of the record from files with rows, and other files that name it. Ends as it should also where it is repeated after it
 * was killed: what shows what is to be removed is changed last.
 */
async function cleanFolder(folder: RunFolder, key: string, isTheirs: Matcher, lines: ReadonlySet<string>) {
  const files = new Set<string>();
  let rows = 0;
  const removeFile = async (name: string) => {
    files.add(name);
    await folder.remove([name]);
  };
  await folder.removeIncomplete?.();
  const found = await folder.list();
  for (const name of found.toSorted((one, other) => EVIDENCE.indexOf(one) - EVIDENCE.indexOf(other))) {
    if (files.has(name)) continue;
    const text = await readLatin1(folder, name);
    const isRows = /\.(csv|jsonl)$/.test(name) && !/^(\xff\xfe|\xfe\xff)/.test(text);
    if (!isRows) {
      // A report quotes what the store said of a refused record, perhaps a name alone.
      const mayQuote = lines.size > 0 && /^report\.(html|json)$/.test(name);
      const isNamed = mayQuote || isTheirs(text.replaceAll('\0', ''));
      if (isNamed && !(name === PLAN_FILE && (await pruneExamples(folder, isTheirs)))) await removeFile(name);
      continue;
    }
    const isCsv = name.endsWith('.csv');
    const records = isCsv ? csvRecords(text) : text.split(/(?<=\n)/);
    // `UNMATCHED_FILE` has only the cells of the source.
    const hasLines = lastCell(records[0] ?? '') === LINE_COLUMN;
    const ofKey = isCsv
      ? (record: string) => hasLines && lines.has(lastCell(record))
      : (record: string) => record.includes(keyMember(key));
    const kept = records.filter(
      (record, index) => (isCsv && index === 0) || !(ofKey(record) || isTheirs(record)),
    );
    if (kept.length === records.length) continue;
    if (name === UNTOUCHED_FILE) {
      // Its rows of `UNMATCHED_FILE` are among them.
      rows += records.length - kept.length;
      // It has the same rows.
      if (found.includes(REJECTS_WORKBOOK)) await removeFile(REJECTS_WORKBOOK);
    }
    const rest = Buffer.from(kept.join(''), 'latin1');
    if (isCsv && kept.length === 1) await removeFile(name);
    else if (name === HELD_FILE) await replaceHeld(folder, Buffer.from(text, 'latin1'), rest);
    else await folder.write(name, [rest]);
  }
  return { rows, files: [...files] };
}

/** Removes the examples of a plan that name the record: what it holds of others can still be released. False where it names it elsewhere. */
async function pruneExamples(folder: RunFolder, isTheirs: Matcher) {
  const isOther = (value: unknown) => !isTheirs(Buffer.from(JSON.stringify(value)).toString('latin1'));
  const plan = await readPlan(folder).catch(() => undefined);
  if (plan === undefined) return false;
  const { source, shards } = plan;
  const pruned = planSchema.parse({
    ...JSON.parse(JSON.stringify(plan), (_, value) => (Array.isArray(value) ? value.filter(isOther) : value)),
    source,
    shards,
  });
  if (!isOther(pruned)) return false;
  await writePlan(folder, pruned);
  return true;
}

/** The records of a CSV file, each with its line end; a line break in quotes ends none. */
function csvRecords(text: string) {
  const records: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') quoted = !quoted;
    if (text[at] !== '\n' || quoted) continue;
    records.push(text.slice(start, at + 1));
    start = at + 1;
  }
  return start < text.length ? [...records, text.slice(start)] : records;
}

function lastCell(record: string) {
  return /(?:^|[,;\t|])"?([^",;\t|]*)"?$/.exec(record.trimEnd())?.[1] ?? '';
}
