import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../../config/edit-file.ts';
import { readPaged } from '../../export/reading/read-items.ts';
import { isJsonObject, type JsonObject, member } from '../../model/json-object.ts';
import type { DeferredRecord, Mapped } from '../../model/mapped-record.ts';
import { formatRow, inertCell, withoutInertMark } from '../../model/row.ts';
import type { Run } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import {
  MATCH_KINDS,
  MATCH_SCORES,
  type MatchCandidate,
  type PlanOptions,
  type Predecessor,
  ProductMatcher,
  readNewRecords,
} from '../../plan/plan-import.ts';
import { importTarget } from '../../state/state.ts';
import { readCsv } from '../../tables/open-table.ts';
import { digestOf } from '../digest-of.ts';
import { claimTableForStore, noteStoreOfTable, readTableNote } from '../inputs/side-table.ts';
import { readProbe } from '../kept-probe.ts';
import { lockJob } from '../lock-job.ts';
import type { RetryGuard } from '../retry-guard.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { readExport } from './snapshot-reading.ts';

/** A product that a store had before the first import, and that a record may be. */
export interface AdoptedRow {
  /** Of the record, as the mapping makes it. */
  readonly url: string;
  /** Of the product; empty where the record is new. */
  readonly storeUrl: string;
  readonly storeId: string;
  readonly foundBy: string;
  readonly score: string;
  /** `adopt`, `new`, or empty: nobody has decided yet. */
  readonly decision: string;
}

const COLUMNS = ['url', 'store_url', 'store_id', 'found_by', 'score', 'decision'] as const;
const DECISIONS = new Set(['adopt', 'new', '']);

/** The table of a job's decisions, relative to the workspace; people edit it. */
export function adoptedFile({
  job,
  store,
}: {
  readonly job: Pick<ImportRequest['job'], 'name'>;
  readonly store: Pick<ImportRequest['store'], 'name'>;
}): string {
  return `adopted-${store.name}-${job.name}.csv`;
}

/** Over the decisions, which change what a plan sends; null where the job adopts nothing. */
export function adoptedDigest({ workspaceDir }: RunContext, request: ImportRequest): string | null {
  if (request.job.adopt === undefined) return null;
  const path = join(workspaceDir, adoptedFile(request));
  return digestOf(existsSync(path) ? readFileSync(path, 'utf8') : '');
}

/** Replaces the table, completely or not at all. */
async function writeDecisions(workspaceDir: string, file: string, decided: readonly AdoptedRow[]) {
  const cells = decided.map(({ url, storeUrl, storeId, foundBy, score, decision }) =>
    [url, storeUrl, storeId, foundBy, score, decision].map(inertCell),
  );
  await writeWhole(
    join(workspaceDir, file),
    [[...COLUMNS], ...cells].map((row) => `${formatRow(row, ',')}\n`),
  );
}

/** The decisions so far. UsageError where the table is not as a person may edit it. */
export async function readDecisions(workspaceDir: string, file: string): Promise<AdoptedRow[]> {
  const path = join(workspaceDir, file);
  if (!existsSync(path)) return [];
  const table = await readCsv(createReadStream(path), { name: file });
  const places = COLUMNS.map((column) => table.header.indexOf(column));
  const missing = COLUMNS.find((_, index) => places[index] === -1);
  if (missing !== undefined) throw damaged(file, 1, `it has no column '${missing}'`);
  const rows: AdoptedRow[] = [];
  for await (const batch of table.batches()) {
    for (const { cells, line } of batch) {
      const [url = '', storeUrl = '', storeId = '', foundBy = '', score = '', decision = ''] = places.map(
        (at) => withoutInertMark(cells[at] ?? '').trim(),
      );
      const word = decision.toLowerCase();
      if (!DECISIONS.has(word))
        throw damaged(file, line, `the decision '${decision}' is none of adopt and new`);
      if (word === 'adopt' && (url === '' || storeUrl === '')) throw damaged(file, line, 'a url is missing');
      rows.push({ url, storeUrl, storeId, foundBy, score, decision: word });
    }
  }
  return rows;
}

/**
 * The urls of records that were adopted, by the urls that the store has for them; empty where the table is not about the store with this
 * identity.
 */
export async function adoptedUrls(
  { workspaceDir, artifacts }: RunContext,
  of: Parameters<typeof adoptedFile>[0],
  storeId: string,
): Promise<ReadonlyMap<string, string>> {
  const file = adoptedFile(of);
  if ((await readTableNote(artifacts, file))?.storeId !== storeId) return new Map();
  const rows = await readDecisions(workspaceDir, file);
  return new Map(
    rows.flatMap(({ url, storeUrl, decision }) => (decision === 'adopt' ? [[storeUrl, url]] : [])),
  );
}

/** The pairs of records that nobody has decided about yet. */
export function openPairs(rows: readonly AdoptedRow[]): readonly AdoptedRow[] {
  const decided = new Set(rows.filter(({ decision }) => decision !== '').map(({ url }) => url));
  return rows.filter(({ url }) => !decided.has(url));
}

/** What identifies a pair in its table. */
export function pairName({ url, storeUrl }: AdoptedRow): string {
  return JSON.stringify([url, storeUrl]);
}

/**
 * Decides about open pairs of a job, by their names. LockedError while the job works, because its run writes the table;
 * UsageError if a record would be two products, or two records one.
 */
export async function decidePairs(
  context: RunContext,
  { job, file }: { readonly job: string; readonly file: string },
  chosen: ReadonlySet<string>,
  decision: 'adopt' | 'new',
): Promise<void> {
  await using _job = await lockJob(context, { job, id: context.newRunId() });
  const rows = await readDecisions(context.workspaceDir, file);
  const decided = new Set(openPairs(rows).filter((row) => chosen.has(pairName(row))));
  const adopted =
    decision === 'new' ? [] : rows.filter((row) => row.decision === 'adopt' || decided.has(row));
  for (const side of ['url', 'storeUrl'] as const) {
    const urls = adopted.map((row) => row[side]);
    const twice = urls.find((url, index) => urls.indexOf(url) < index);
    if (twice !== undefined)
      throw new UsageError(`${twice} is chosen twice.`, { hint: 'Choose one product for each record.' });
  }
  const now = rows.map((row) => (decided.has(row) ? { ...row, decision } : row));
  await writeDecisions(context.workspaceDir, file, now);
}

function damaged(file: string, line: number, problem: string) {
  return new UsageError(`${file}, line ${line}: ${problem}.`, {
    hint: 'Correct it, or restore it from a copy. Without this file the store is matched again.',
  });
}

type Records = readonly (Mapped | DeferredRecord)[];

/**
 * The products that a store had before the first import of a job, as far as they were matched with its records. UsageError where the
 * table is not as it was written, or as a person may edit it, or is about another store.
 */
export async function openAdoption(context: RunContext, request: ImportRequest, run: Run) {
  const { artifacts, state, signal, workspaceDir } = context;
  const file = adoptedFile(request);
  const rows = await readDecisions(workspaceDir, file);
  const other = rows.length === 0 ? undefined : await claimTableForStore(artifacts, file, run.storeId);
  if (other !== undefined) {
    throw new UsageError(
      `${file} is about the products of ${other}, and ${run.store} is ${run.storeId} now.`,
      {
        hint: 'Move it away: without it the store is matched again.',
      },
    );
  }
  /** The urls of the store by those of records. */
  const adopted = new Map(
    rows.flatMap(({ url, storeUrl, decision }) => (decision === 'adopt' ? [[url, storeUrl]] : [])),
  );
  const ledger = state.ledger(importTarget(run));

  const rekeyed = (item: Records[number]) => {
    const key = item.key === null ? undefined : adopted.get(item.key);
    if (key === undefined) return item;
    return item.kind === 'deferred'
      ? { ...item, key, map: () => withKey(item.map(), key) }
      : withKey(item, key);
  };
  /** Keeps what people have decided while the store was read. */
  const addRows = async (added: readonly AdoptedRow[]) => {
    await noteStoreOfTable(artifacts, file, run.storeId);
    const now = await readDecisions(workspaceDir, file);
    const known = new Set(now.map(({ url }) => url));
    await writeDecisions(workspaceDir, file, [...now, ...added.filter(({ url }) => !known.has(url))]);
  };
  /** The products of the store that may be new records; `claimed` gets those that belong to another job. */
  async function* unknownProducts(
    seen: { has(key: string): boolean },
    claimed: Set<string>,
  ): AsyncGenerator<readonly (readonly [url: string, body: JsonObject])[]> {
    for await (const products of storedProducts(context, request, run)) {
      signal.throwIfAborted();
      const keyed = products.flatMap((body): (readonly [string, JsonObject])[] => {
        const url = member(body, 'url');
        return typeof url === 'string' && url !== '' ? [[url, body]] : [];
      });
      const marks = await ledger.marks(keyed.map(([url]) => url));
      const missing = keyed
        .map(([url, body], index) => ({ url, body, owner: marks[index]?.job }))
        .filter(({ url }) => !seen.has(url));
      const own = missing.filter(({ owner }) => owner === run.job).map(({ url }) => url);
      const versions = await state.history(importTarget(run)).versions(own);
      const isAdopted = new Set(own.filter((_, index) => versions[index]?.some((one) => one.adopted)));
      for (const { url, owner } of missing) if (owner !== undefined && owner !== run.job) claimed.add(url);
      yield missing.flatMap(({ url, body, owner }) =>
        owner === run.job && !isAdopted.has(url) ? [] : [[url, body] as const],
      );
    }
  }

  /** What the new records of a draft are in the store. The store is read only where a record is not in the table yet. */
  const predecessorsIn: NonNullable<PlanOptions['predecessorsIn']> = async (draft) => {
    const rowsOf = Map.groupBy(rows, ({ url }) => url);
    const origins = new Map([...adopted].map(([url, storeUrl]) => [storeUrl, url]));
    const certain = new Map<string, Predecessor>();
    const waiting = new Map<string, readonly MatchCandidate[]>();
    using matcher = new ProductMatcher(MATCH_KINDS);
    let unknown = 0;
    const folder = artifacts.run(run.id);
    const search = { folder, ledger, upserts: draft.upserts, tally: draft.tally, signal };
    for await (const records of readNewRecords(search)) {
      for (const [key, body] of records) {
        const origin = origins.get(key);
        const decided = rowsOf.get(key);
        if (origin !== undefined) {
          certain.set(key, { key, by: 'table', origin });
        } else if (decided === undefined) {
          matcher.addNew(key, body);
          unknown++;
        } else if (decided.every(({ decision }) => decision !== 'new')) {
          waiting.set(key, decided.map(candidateOf));
        }
      }
    }
    const known = new Map<string, JsonObject>();
    if (unknown > 0) {
      const listed = rows.length;
      /** Products about which a person decides. */
      const claimed = new Set(
        rows.flatMap(({ storeUrl, decision }) => (decision === 'new' ? [] : [storeUrl])),
      );
      for await (const products of unknownProducts(draft.seen, claimed)) {
        for (const [url, body] of products) if (matcher.addKnown(url, body)) known.set(url, body);
      }
      for (const { key, candidates, isCertain: isOnlyMatch } of matcher.matches()) {
        const [first] = candidates;
        const isCertain = isOnlyMatch && candidates.every((one) => !claimed.has(one.key));
        if (isCertain && first !== undefined) {
          certain.set(first.key, { key: first.key, by: first.by, origin: key });
          adopted.set(key, first.key);
        } else waiting.set(key, candidates);
        for (const { key: storeUrl, by } of candidates) {
          rows.push({
            url: key,
            storeUrl,
            storeId: String(known.get(storeUrl)?.['id'] ?? ''),
            foundBy: by,
            score: String(MATCH_SCORES[by]),
            decision: isCertain ? 'adopt' : '',
          });
        }
      }
      if (rows.length > listed) await addRows(rows.slice(listed));
    }
    if (certain.size + waiting.size === 0) return null;
    return {
      method: 'hold',
      certain,
      waiting,
      adopting: new Set(waiting.keys()),
      bodies: async (keys) =>
        keys.map((key) => {
          const { id: _, ...body } = known.get(key) ?? {};
          return known.has(key) ? JSON.stringify(body) : undefined;
        }),
    };
  };
  return {
    predecessorsIn,
    /** The guard of a retry, which also sends rejected records under the keys that they have since. */
    guardOf(guard: RetryGuard): RetryGuard {
      const now = guard.keys.flatMap(([key, at]): RetryGuard['keys'] => {
        const storeUrl = adopted.get(key);
        return storeUrl === undefined ? [] : [[storeUrl, at]];
      });
      return { ...guard, keys: [...guard.keys, ...now] };
    },
    /** Records under the urls that their products have in the store. */
    async *rekey(batches: AsyncIterable<Records>): AsyncGenerator<Records> {
      for await (const batch of batches) yield adopted.size === 0 ? batch : batch.map(rekeyed);
    },
  };
}

/** The products of the store, as it lists them, or as the file of the job has them. */
async function* storedProducts(
  context: RunContext,
  request: ImportRequest,
  { stagedAt, startedAt, id }: Run,
): AsyncGenerator<readonly JsonObject[]> {
  const { job, store, baseline } = request;
  const { artifacts, signal } = context;
  const { adopt } = job;
  if (adopt === 'store') {
    if ((await readProbe(artifacts, store))?.properties.readsProducts !== true) {
      throw new UsageError(`It is not known that ${store.name} lists its products, so none can be adopted.`, {
        hint: `Find out: storeferry probe ${store.name}. If it does not, name an export of the store: adopt: { path: …, mapping: … }`,
      });
    }
    const client = await context.openStorefront(store);
    const { concurrency } = store.limits;
    for await (const batch of readPaged(client, { signal, concurrency, onProgress() {}, what: 'products' }))
      yield batch.map(({ text }): unknown => JSON.parse(text)).filter(isJsonObject);
    return;
  }
  if (adopt === undefined || baseline === undefined) return;
  const reading = { ...request, job: { ...job, source: adopt }, mapping: baseline };
  yield* readExport(context, reading, artifacts.run(id), stagedAt ?? startedAt);
}

function candidateOf({ storeUrl, foundBy }: AdoptedRow): MatchCandidate {
  return { key: storeUrl, by: MATCH_KINDS.find((kind) => kind === foundBy) ?? 'url' };
}

function withKey(item: Mapped, key: string): Mapped {
  if (item.kind !== 'record') return { ...item, key };
  return 'title' in item.body && 'url' in item.body
    ? { ...item, key, body: { ...item.body, url: key } }
    : item;
}
