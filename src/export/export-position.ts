import { hash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import type { ExportJob } from '../config/job/job.ts';
import type { Stored } from '../model/json-object.ts';
import { LineSplitter } from '../model/row.ts';
import { StateError, UsageError } from '../model/storeferry-error.ts';
import { type RunFolder, readLines, sealedFile } from '../state/artifacts.ts';
import { exactJson, exactText, isPlainObject } from './exact-json.ts';

/** The field of an order in a file of its own: whether it is `new` or `changed`. */
export const CHANGE_FIELD = 'storeferry_change';

/** What is written beside each file of `mode: new`, and kept. */
export const manifestSchema = z.object({
  /** Of the file, from 1, without gaps. */
  number: z.int(),
  job: z.string(),
  run: z.string(),
  /** As `destination` of the job names it, with its placeholders filled. */
  file: z.string(),
  sha256: z.string(),
  bytes: z.int(),
  /** When the store was read, ISO 8601 in UTC. */
  readAt: z.string(),
  /** Orders in the file; its lines may be more with `rows: items`. */
  count: z.int(),
  lines: z.int(),
  new: z.int(),
  changed: z.int(),
  firstId: z.string(),
  lastId: z.string(),
  /** The orders that were read, in the file or not: with `createdSince: null` all of the store. */
  totalCount: z.int(),
  /** Only orders created since then were read, ISO 8601. */
  createdSince: z.string().nullable().default(null),
});
export type Manifest = Stored<typeof manifestSchema>;

const positionSchema = z.object({
  /** The store whose orders are known. */
  store: z.string(),
  /** Name of the file with their fingerprints; null while none is known. */
  prints: z.string().nullable(),
  /** The last full pass: when all orders were read, and by which filter they were compared; null before. */
  full: z.object({ readAt: z.string(), filter: z.string() }).nullable().default(null),
  files: z.array(manifestSchema),
});

/** What the files of a job have so far: a file is in place before the position knows it. */
export type ExportPosition = Stored<typeof positionSchema>;

const POSITION_FILE = 'position.json';
const positionFile = sealedFile(
  POSITION_FILE,
  positionSchema,
  'was damaged',
  'Remove it to export all orders again, as new ones.',
);
/** Replaces the kept position. */
export const keepPosition = positionFile.write;

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
/** So many files of a job can be written again byte for byte. */
const KEPT_FILES = 20;

/** The position of a job; without any file where it has written none from this store. */
export async function readPosition(folder: RunFolder, store: string): Promise<ExportPosition> {
  const position = (await positionFile.find(folder)) ?? { store, prints: null, full: null, files: [] };
  // The numbers of files go on; the ids of another store mean other orders.
  return position.store === store ? position : { ...position, store, prints: null, full: null };
}

/**
 * From when on orders have to be read, ISO 8601: a week before the last full pass, so that clocks may differ and recent orders are always
 * compared; null where a full pass is due, each week.
 */
export function readableSince(
  { full }: ExportPosition,
  job: Pick<ExportJob, 'filter'>,
  now: number,
): string | null {
  if (full === null || full.filter !== filterText(job)) return null;
  const passedAt = Date.parse(full.readAt);
  if (now < passedAt || now - passedAt >= WEEK_MS) return null;
  return new Date(passedAt - WEEK_MS).toISOString();
}

/** The position once the files have all orders of the store as they were then, by the filter of the job. */
export function afterFullPass(
  position: ExportPosition,
  job: Pick<ExportJob, 'filter'>,
  readAt: string,
): ExportPosition {
  return { ...position, full: { readAt, filter: filterText(job) } };
}

function filterText({ filter }: Pick<ExportJob, 'filter'>) {
  return JSON.stringify(filter ?? {});
}

/** The files from that of a run on, or from a time on (ISO 8601). UsageError where there is none. */
export function filesSince({ files }: ExportPosition, since: string): readonly Manifest[] {
  const first = files.findIndex(({ run }) => run === since);
  if (first >= 0) return files.slice(first);
  const time = Date.parse(since);
  const later = Number.isNaN(time) ? [] : files.filter(({ readAt }) => Date.parse(readAt) >= time);
  if (later.length > 0) return later;
  throw new UsageError(`No file of the job was written by a run ${since}, or since such a time.`, {
    hint: 'Give the id of a run that `storeferry runs` shows, or a time such as 2026-11-24.',
  });
}

/** Moves the position behind a file that is in place, and drops what only earlier positions need. */
export async function movePosition(
  folder: RunFolder,
  position: ExportPosition,
  manifest: Manifest,
  known: ReadonlyMap<string, string>,
): Promise<void> {
  const prints = `prints-${manifest.number}`;
  await folder.write(prints, printLines(known));
  const next: ExportPosition = { ...position, prints, files: [...position.files, manifest] };
  await keepPosition(folder, next);
  const kept = new Set([POSITION_FILE, prints, ...next.files.slice(-KEPT_FILES).map(copyName)]);
  await folder.remove((await folder.list()).filter((name) => !kept.has(name)));
}

function* printLines(known: ReadonlyMap<string, string>): Generator<string> {
  for (const [key, print] of known) yield `${print} ${key}\n`;
}

/** The fingerprints of the orders that the files have, by their keys. StateError if they are lost. */
export async function readPrints(
  folder: RunFolder,
  { prints }: ExportPosition,
): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  if (prints === null) return known;
  if (!(await folder.exists(prints))) {
    throw new StateError(`${folder.location}/${prints} is gone: which orders were exported is not known.`, {
      hint: `Restore it, or remove ${POSITION_FILE} beside it to export all orders again, as new ones.`,
    });
  }
  for await (const lines of readLines(folder, prints)) {
    for (const line of lines) {
      const space = line.indexOf(' ');
      known.set(line.slice(space + 1), line.slice(0, space));
    }
  }
  return known;
}

/** The orders of a reading that the files do not have like that. Counts grow while `orders` are read. */
export function selectChanges(
  reading: AsyncIterable<readonly string[]>,
  before: ReadonlyMap<string, string>,
) {
  const found = {
    known: new Map(before),
    new: 0,
    changed: 0,
    /** Orders that the files have had, like that or otherwise. */
    seen: 0,
    firstId: '',
    lastId: '',
  };
  async function* orders(): AsyncGenerator<readonly string[]> {
    for await (const batch of reading) {
      yield batch.flatMap((order) => {
        const fields = exactJson(order);
        const print = hash('sha256', canonicalText(fields), 'base64url');
        const id = isPlainObject(fields) ? (exactText(fields['id']) ?? '') : '';
        // An order without an id is its content.
        const key = id === '' ? `#${print}` : id;
        if (before.has(key)) found.seen++;
        const known = found.known.get(key);
        if (known === print) return [];
        found.known.set(key, print);
        const change = known === undefined ? 'new' : 'changed';
        found[change]++;
        if (found.firstId === '') found.firstId = id;
        found.lastId = id;
        // The order itself stays as the store wrote it.
        const rest = order.slice(order.indexOf('{') + 1).trimStart();
        return [`{"${CHANGE_FIELD}":"${change}"${rest.startsWith('}') ? '' : ','}${rest}`];
      });
    }
  }
  return { found, orders: orders() };
}

/** JSON that is equal for equal values, in whatever order a store sends their fields. */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isPlainObject(value)) return JSON.stringify(exactText(value) ?? null) + typeof value;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`).join(',')}}`;
}

/** Keeps the bytes of a file before it is written, so that it can be written again. */
export async function keepCopy(
  folder: RunFolder,
  file: Pick<Manifest, 'number'>,
  content: AsyncIterable<Uint8Array | string>,
): Promise<void> {
  await folder.write(
    copyName(file),
    pipeline(Readable.from(content), createGzip(), () => {}),
  );
}

/** The kept bytes of a file; undefined for one that is older than those kept. */
export async function openCopy(
  folder: RunFolder,
  file: Pick<Manifest, 'number'>,
): Promise<Readable | undefined> {
  const name = copyName(file);
  if (!(await folder.exists(name))) return undefined;
  return pipeline(await folder.read(name), createGunzip(), () => {});
}

/** The names of the copies in the folder of a job. */
export async function copyNames(folder: RunFolder): Promise<string[]> {
  return (await folder.list()).filter((name) => /^file-\d+\.gz$/.test(name));
}

/** Whether a copy has what is looked for, line by line in latin1; undefined for a workbook or a Parquet file, whose content is packed. */
export async function isInCopy(
  folder: RunFolder,
  name: string,
  isIn: (text: string) => boolean,
): Promise<boolean | undefined> {
  const lines = new LineSplitter();
  let isFirst = true;
  for await (const chunk of pipeline(await folder.read(name), createGunzip(), () => {})) {
    const text = chunk.toString('latin1');
    if (isFirst && (text.startsWith('PK\x03\x04') || text.startsWith('PAR1'))) return undefined;
    isFirst = false;
    if (isIn(lines.take(text).join('\n'))) return true;
  }
  return isIn(lines.rest);
}

function copyName({ number }: Pick<Manifest, 'number'>) {
  return `file-${number}.gz`;
}
