import { hash } from 'node:crypto';
import { z } from 'zod';
import type { ImportJob, PublishSpec } from '../../config/job/job.ts';
import type { PublicFolder } from '../../export/writing/export-file.ts';
import type { FindPicture } from '../../mapping/compile-mapping.ts';
import { type Stored, sumOf } from '../../model/json-object.ts';
import type { Operation } from '../../model/operation.ts';
import type { PictureFindings, Plan, PlannedShard } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { SourceError } from '../../model/storeferry-error.ts';
import { readHeld, readShard } from '../../plan/plan-file.ts';
import type { PlanOptions } from '../../plan/plan-import.ts';
import { remoteIdentity } from '../../remote/remote-kinds.ts';
import { openPictures } from '../../source/snapshot.ts';
import { type RunFolder, sealedFile } from '../../state/artifacts.ts';
import { chunksOf } from '../../state/state.ts';
import { decodedPercents } from '../../text/printable.ts';
import { digestOf } from '../digest-of.ts';
import { forEachConcurrently } from '../for-each-concurrently.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { addressDigest, imagesOf } from './check-images.ts';

const stagedFile = z.object({
  /** Within the folder or the zip. */
  name: z.string(),
  /** Its name where it is published: made of its content. */
  published: z.string(),
  bytes: z.int(),
});
type StagedFile = Stored<typeof stagedFile>;

const picturesSchema = z.object({
  from: z.string(),
  to: z.string(),
  /** Ends with a slash. */
  address: z.string(),
  files: z.array(stagedFile),
  broken: z.array(z.object({ name: z.string(), problem: z.string() })),
});
export type StagedPictures = Stored<typeof picturesSchema>;

/** Stored beside the snapshot: which picture files there were, so that the whole run names the same content. */
const picturesFile = sealedFile(
  'pictures.json',
  picturesSchema,
  'is not what was staged',
  'The file was damaged or edited. Run the job again: it reads the pictures again.',
);
/** The list of this run; undefined if the job publishes none. StateError if the file was damaged. */
export const stagedPictures = picturesFile.find;

const HASH_LENGTH = 40;

/** Reads the picture files that the job publishes into a list in the run's folder; gives its digest, null without any. SourceError. */
export async function stagePictures(
  context: RunContext,
  { job }: ImportRequest,
  folder: RunFolder,
): Promise<string | null> {
  const publish = job.images?.publish;
  if (publish === undefined) return null;
  const files: StagedFile[] = [];
  const broken: { name: string; problem: string }[] = [];
  await using pictures = await openPictures(publish.from, context, job.limits);
  const total = pictures.names.length;
  for (const [index, name] of pictures.names.entries()) {
    context.signal.throwIfAborted();
    const picture = await pictures.read(name);
    if ('problem' in picture) broken.push({ name, problem: picture.problem });
    else files.push({ name, published: publishedName(picture), bytes: picture.content.length });
    context.onEvent({ type: 'progress', step: 'stage', done: index + 1, total, unit: 'pictures' });
  }
  const { from, address } = publish;
  const staged: StagedPictures = { from, to: placeOf(publish), address, files, broken };
  await picturesFile.write(folder, staged);
  return digestOf(staged);
}

function publishedName({ content, type }: { readonly content: Buffer; readonly type: string }) {
  return `${hash('sha256', content).slice(0, HASH_LENGTH)}.${type}`;
}

function placeOf({ path, remote }: PublishSpec) {
  return remote?.location ?? path ?? '';
}

/** So many missing files are named. */
const NAMED = 20;

/**
 * Finds a picture by what a cell has: its path in the folder, else its name alone if only one content has it; without regard to case
 * where that is unique. A name beside a folder that the picture is not in may be another picture's, unless the path is that of another
 * machine. A mapping may write the address before it. Backslashes and %20 do no harm.
 */
export function pictureFinder({ from, address, files, broken }: StagedPictures): FindPicture {
  const places = [
    new KnownPictures(),
    new KnownPictures(),
    new KnownPictures(),
    new KnownPictures(),
  ] as const;
  const [paths, lowerPaths, names, lowerNames] = places;
  for (const { name, published } of files) {
    for (const [at, key] of keysOf(name).entries()) places[at]?.add(key, published);
    paths.add(published, published);
  }
  for (const { name, problem } of broken)
    for (const [at, key] of keysOf(name).entries()) places[at]?.problems.set(key, problem);
  const named = new Set<string>();
  return (text) => {
    const isBelow = text.startsWith(address);
    if (!isBelow && /^[a-z][\w+.-]*:\/\//i.test(text)) return undefined;
    const written = isBelow ? text.slice(address.length) : text;
    const [path, lowerPath, name, lowerName] = keysOf(written);
    const isAnyFolder = path === name || OTHER_MACHINE.test(written);
    const asked = [
      [paths, path],
      [lowerPaths, lowerPath],
      [isAnyFolder ? names : paths, name],
      [isAnyFolder ? lowerNames : lowerPaths, lowerName],
    ] as const;
    for (const [known, key] of asked) {
      const found = [...(known.pictures.get(key) ?? [])];
      const [published] = found;
      if (found.length === 1) return { address: `${address}${published}` };
      if (found.length > 1)
        return { note: `images: several pictures in ${from} have the name ${key}, left out` };
      const problem = known.problems.get(key);
      if (problem !== undefined) return { note: `images: ${key} ${problem}, left out` };
    }
    const isNamed = named.has(written) || named.size < NAMED;
    if (isNamed) named.add(written);
    return { note: `images: ${isNamed ? written : 'a further picture'} is not in ${from}, left out` };
  };
}

/** A path that begins with a drive or a server. */
const OTHER_MACHINE = /^(?:[a-z]:|\\\\)/i;

/** Pictures by paths or names of one kind: the published names, and what is wrong with those that are none. */
class KnownPictures {
  readonly pictures = new Map<string, Set<string>>();
  readonly problems = new Map<string, string>();

  add(key: string, published: string): void {
    this.pictures.set(key, (this.pictures.get(key) ?? new Set()).add(published));
  }
}

/** The path of a name, then its last part, each as written and in lower case. */
function keysOf(written: string): readonly [string, string, string, string] {
  const path = (decodedPercents(written) ?? written)
    .normalize('NFC')
    .replaceAll('\\', '/')
    .replace(/^(\.?\/)+/, '');
  const name = path.slice(path.lastIndexOf('/') + 1);
  return [path, path.toLowerCase(), name, name.toLowerCase()];
}

const EXAMPLES = 5;

/** Looks which pictures of a plan must be uploaded; undefined where the job publishes none. Uploads nothing. */
export function pictureFindingsOf(
  context: RunContext,
  { job }: ImportRequest,
  run: Run,
): PlanOptions['findPictures'] {
  const publish = job.images?.publish;
  if (publish === undefined) return undefined;
  const folder = context.artifacts.run(run.id);
  return async (shards, counts) => {
    const staged = await stagedPictures(folder);
    if (staged === undefined) throw new TypeError('a run that publishes pictures without a list of them');
    const named = new Map([
      ...(await picturesIn(staged, shardOperations(folder, shards))),
      ...(await picturesIn(staged, heldOperations(folder, { counts }))),
    ]);
    const open = await unpublished(context, publish, run, [...named.values()]);
    return {
      from: staged.from,
      to: staged.to,
      pictures: named.size,
      uploads: open.length,
      bytes: sumOf(open, ({ bytes }) => bytes),
      broken: brokenFiles(staged),
    };
  };
}

function brokenFiles({ broken }: StagedPictures): PictureFindings['broken'] {
  return [...Map.groupBy(broken, ({ problem }) => problem)]
    .map(([problem, files]) => ({
      problem,
      files: files.length,
      examples: files.slice(0, EXAMPLES).map(({ name }) => name),
    }))
    .sort((one, other) => other.files - one.files);
}

async function* shardOperations(folder: RunFolder, shards: readonly PlannedShard[]) {
  for (const shard of shards) yield await readShard(folder, shard);
}

async function* heldOperations(folder: RunFolder, plan: { readonly counts: Plan['counts'] }) {
  for await (const batch of readHeld(folder, plan)) yield batch.map(({ operation }) => operation);
}

/** The pictures that products name, by their published names. */
async function picturesIn(
  { address, files }: StagedPictures,
  batches: AsyncIterable<readonly Operation[]>,
): Promise<ReadonlyMap<string, StagedFile>> {
  const byAddress = new Map(files.map((file) => [`${address}${file.published}`, file]));
  const found = new Map<string, StagedFile>();
  for await (const operations of batches) {
    for (const operation of operations) {
      if (operation.kind !== 'upsert-product') continue;
      for (const image of imagesOf(operation.key, operation.body)) {
        const file = byAddress.get(image.address);
        if (file !== undefined) found.set(file.published, file);
      }
    }
  }
  return found;
}

/** With all that exports write, which a run without pictures to publish does not load. */
async function openTarget(publish: PublishSpec, context: RunContext) {
  const { openPublicFolder } = await import('../../export/writing/export-file.ts');
  return await openPublicFolder(publish, context);
}

const CHUNK = 500;

/** Those that are not known to be published. A folder of this machine is looked at: another machine may have another one. */
async function unpublished(
  context: RunContext,
  publish: PublishSpec,
  { resend }: Run,
  files: readonly StagedFile[],
) {
  const open: StagedFile[] = [];
  if (publish.remote === undefined) {
    await using target = await openTarget(publish, context);
    for (const file of files)
      if (!(await target.has(file.published, file.bytes, context.signal))) open.push(file);
    return open;
  }
  if (resend) return files;
  for (const some of chunksOf(files, CHUNK)) {
    const known = await context.state.checkedAddresses.find(
      some.map(({ published }) => memoryKey(publish, published)),
    );
    open.push(...some.filter((_, index) => known[index] === undefined));
  }
  return open;
}

function memoryKey({ remote }: PublishSpec, published: string) {
  if (remote === undefined) return '';
  return addressDigest(JSON.stringify(['published', remote.location, remoteIdentity(remote), published]));
}

interface PlannedRun {
  readonly run: Run;
  readonly plan: Plan;
  readonly job: ImportJob;
}

const UPLOADS_AT_ONCE = 4;

/** Uploads the pictures that the products of these shards name, before they are sent. SourceError, DestinationError. */
export async function publishPictures(
  context: RunContext,
  planned: PlannedRun,
  shards: readonly PlannedShard[],
): Promise<void> {
  await publish(context, planned, shardOperations(context.artifacts.run(planned.run.id), shards));
}

/** The same for held records: whoever releases them may no longer have the files. */
export async function publishHeldPictures(context: RunContext, planned: PlannedRun): Promise<void> {
  const { run, plan } = planned;
  await publish(context, planned, heldOperations(context.artifacts.run(run.id), plan));
}

async function publish(
  context: RunContext,
  { run, job }: PlannedRun,
  batches: AsyncIterable<readonly Operation[]>,
) {
  const { state, signal, clock, onEvent } = context;
  const to = job.images?.publish;
  const staged = to && (await stagedPictures(context.artifacts.run(run.id)));
  if (to === undefined || staged === undefined) return;
  const named = [...(await picturesIn(staged, batches)).values()];
  const open = await unpublished(context, to, run, named);
  if (open.length === 0) return;
  await using pictures = await openPictures(to.from, context, job.limits);
  await using folders = new AsyncDisposableStack();
  const idle: PublicFolder[] = [];
  const done = { uploaded: 0, present: 0 };
  const unwritten: string[] = [];
  const remember = async () => {
    const published = unwritten.splice(0).map((name) => ({ address: memoryKey(to, name), version: null }));
    if (published.length > 0) await state.checkedAddresses.remember(published, clock());
  };
  try {
    const first = folders.use(await openTarget(to, context));
    await first.sweep(signal);
    idle.push(first);
    await forEachConcurrently(open, UPLOADS_AT_ONCE, async ({ name, published, bytes }) => {
      signal.throwIfAborted();
      const folder = idle.pop() ?? folders.use(await openTarget(to, context));
      if (await folder.has(published, bytes, signal)) done.present++;
      else {
        const picture = await pictures.read(name).catch(unlessGone);
        if (picture === undefined || 'problem' in picture || publishedName(picture) !== published)
          throw changedSince(`${staged.from}/${name}`);
        const type = `image/${picture.type === 'jpg' ? 'jpeg' : picture.type}`;
        await folder.put(published, picture.content, type, signal);
        done.uploaded++;
      }
      if (to.remote !== undefined) unwritten.push(published);
      if (unwritten.length >= CHUNK) await remember();
      idle.push(folder);
      const sum = done.uploaded + done.present;
      onEvent({ type: 'progress', step: 'apply', done: sum, total: open.length, unit: 'pictures' });
    });
  } finally {
    await remember();
    const { uploaded = 0, present = 0 } = (await state.runs.get(run.id))?.pictures ?? {};
    await state.runs.update(run.id, {
      pictures: { uploaded: uploaded + done.uploaded, present: present + done.present },
    });
  }
}

function unlessGone(error: unknown): undefined {
  if (!(error instanceof TypeError || error instanceof SourceError)) throw error;
}

function changedSince(picture: string) {
  return new SourceError(`The picture ${picture} was changed or removed after the run had read it.`, {
    place: { file: picture },
    hint: 'Run the job again: it reads the pictures again.',
  });
}
