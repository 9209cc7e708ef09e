import type { StoreConfig } from '../../config/store-config.ts';
import { countUnder, sumOf } from '../../model/json-object.ts';
import type { DeleteProduct, Outcome } from '../../model/operation.ts';
import { consideredRecords, operationsIn, type Plan, type PlannedShard } from '../../model/plan.ts';
import type { FoundLimits, Run } from '../../model/run.ts';
import { type JudgedWave, judgeWave, type WaveFigures } from '../../model/safety-limits.ts';
import { SafetyLimitError } from '../../model/storeferry-error.ts';
import { judgeRejectsWhileApplying, readShard } from '../../plan/plan-file.ts';
import { IN_DOUBT, importTarget, type OutcomeTally } from '../../state/state.ts';
import type { Storefront } from '../../storefront/storefront.ts';
import { decodedPercents } from '../../text/printable.ts';
import { withAnswerListener } from '../answer-tally.ts';
import type { DeliverShards, Delivery, RunContext } from '../run-context.ts';
import { type ShardOperation, sendOperations, unsentOperations, versionTime } from '../send-operations.ts';
import { type RunTraffic, readTraffic, runTraffic } from '../traffic/run-traffic.ts';
import { hasOpenOperations } from './continue-or-begin.ts';
import { withCurrentStock } from './product-updates.ts';
import { publishHeldPictures, publishPictures } from './publish-pictures.ts';

/** Sends the plan: upserts in their waves; renames, and deletes last, only after every upsert was applied or refused. */
export async function applyStep(
  context: RunContext,
  delivery: Delivery,
  deliver: DeliverShards,
): Promise<void> {
  const { run, plan } = delivery;
  const sendShards = (shards: readonly PlannedShard[]) =>
    deliver(context, delivery, shards, (tally) => {
      onProgress(context, plan, tally);
      const exceeded = judgeRejected(delivery, tally.rejected);
      if (exceeded !== undefined) throw exceeded;
    });
  let { waves: judged = [] } = await context.state.runs.update(run.id, { step: 'apply' });
  const files = plan.source.files.map(({ name, places }) =>
    places === undefined ? { name } : { name, places: { ...places, letters: {} } },
  );
  await context.state.history(importTarget(run)).begin(run, context.clock(), files);
  const upserts = plan.shards.filter(({ kind }) => kind === 'upserts');
  const renames = plan.shards.filter(({ kind }) => kind === 'renames');
  const deletes = plan.shards.filter(({ kind }) => kind === 'deletes');
  const waves = [...Map.groupBy(upserts, ({ wave = 1 }) => wave).values()];
  await publishHeldPictures(context, delivery);
  for (const [index, shards] of waves.entries()) {
    await publishPictures(context, delivery, shards);
    await sendShards(shards);
    const isFollowed = index + 1 < waves.length || renames.length + deletes.length > 0;
    if (isFollowed && shards[0]?.wave !== undefined) {
      judged = await judgeSentWave(context, delivery, { judged, index, of: waves.length, shards });
    }
  }
  const { applied, rejected } = await context.state.runs.tally(run.id);
  if (applied + rejected < operationsIn(upserts)) return;
  if (renames.length > 0) {
    await publishPictures(context, delivery, renames);
    await cancelDeletesOfUnrenamed(context, delivery, renames);
    await sendShards(renames);
  }
  if (deletes.length === 0) return;
  for (const shard of renames) if (await hasOpenOperations(context, run, shard)) return;
  await cancelDeletesOfSharedIds(context, delivery, deletes);
  await sendShards(deletes);
}

interface SentWave {
  readonly judged: readonly JudgedWave[];
  /** Counts from 0. */
  readonly index: number;
  readonly of: number;
  readonly shards: readonly PlannedShard[];
}

/**
 * Judges a wave that was sent, once: the verdict is stored before anything else is done, so a run that is continued stops again or
 * continues as before. Rejects with SafetyLimitError if the run stops here.
 */
async function judgeSentWave(
  context: RunContext,
  { run, job }: Delivery,
  { judged, index, of, shards }: SentWave,
) {
  if (job.apply === undefined) return judged;
  const { resource } = importTarget(run);
  const known = judged[index];
  const figures = known ?? (await waveFigures(context, run, shards, judged));
  const found = known === undefined ? judgeWave(job.apply, figures, resource) : known.stop;
  const wave = known ?? { ...figures, stop: found, approved: false };
  const all = known === undefined ? [...judged, wave] : judged;
  if (known === undefined) {
    await context.state.runs.update(run.id, { waves: all });
    context.onEvent({ type: 'wave', number: index + 1, of, wave, resource });
  }
  if (wave.stop === null || wave.approved) return all;
  throw new SafetyLimitError(
    `Wave ${index + 1} of ${of}: ${wave.stop}. Look at these records in the store. If they are correct, approve run ${run.id}: it sends the next wave`,
  );
}

async function waveFigures(
  { state, artifacts }: RunContext,
  { id }: Run,
  shards: readonly PlannedShard[],
  earlier: readonly JudgedWave[],
): Promise<WaveFigures> {
  const kinds = new Map<Outcome['kind'], number>();
  for (const { number } of shards) {
    for (const kind of (await state.runs.outcomes(id, number)).values()) {
      countUnder(kinds, kind);
    }
  }
  const records = operationsIn(shards);
  const rejected = kinds.get('rejected') ?? 0;
  const unsent = records - rejected - (kinds.get('applied') ?? 0);
  const { answers } = (await readTraffic(artifacts.run(id))) ?? {};
  const before = (count: (wave: JudgedWave) => number) => sumOf(earlier, count);
  const fields = (answers?.fields ?? []).map(
    ({ field, altered, dropped }) =>
      [field, altered + dropped - before((wave) => wave.fields[field] ?? 0)] as const,
  );
  return {
    records,
    rejected,
    unsent,
    answered: Math.max(0, (answers?.answered ?? 0) - before(({ answered }) => answered)),
    compared: Math.max(0, (answers?.compared ?? 0) - before(({ compared }) => compared)),
    altered: Math.max(0, (answers?.altered ?? 0) - before(({ altered }) => altered)),
    fields: Object.fromEntries(fields.filter(([, count]) => count > 0)),
  };
}

/**
 * Settles the deletes, without sending them, whose id the store also answered for another key, of this job or another: deleting by
 * this id would delete the other product. A store that treats `Shoe` and `shoe` as one product has only renamed it,
 * so the delete counts as done without a request; if all of the keys are to be deleted, one delete is sent. If the
 * urls differ by more, the store has reassigned the id, as after a restore: nothing is known about the old product,
 * so it is not deleted.
 */
async function cancelDeletesOfSharedIds(
  context: RunContext,
  { run, store, lock }: Delivery,
  shards: readonly PlannedShard[],
) {
  const folder = context.artifacts.run(run.id);
  const planned: { readonly shard: number; readonly operation: DeleteProduct }[] = [];
  for (const planShard of shards) {
    const outcomes = await context.state.runs.outcomes(run.id, planShard.number);
    for (const operation of await readShard(folder, planShard)) {
      if (operation.kind !== 'delete-product' || outcomes.get(operation.index) === 'applied') continue;
      planned.push({ shard: planShard.number, operation });
    }
  }
  const byId = Map.groupBy(planned, ({ operation }) => operation.id);
  const ledger = context.state.ledger(importTarget(run));
  for (const [id, keys] of await ledger.sharedIds(new Set(byId.keys()))) {
    const deletes = byId.get(id) ?? [];
    const isRenamed = new Set(keys.map(normalisedSpelling)).size === 1;
    const outcome = isRenamed ? { kind: 'applied' as const, id: null } : { kind: 'left' as const };
    for (const { shard, operation } of isRenamed && deletes.length === keys.length
      ? deletes.slice(1)
      : deletes) {
      const versionAt = versionTime(context, store);
      await context.state.runs.record(run, shard, [{ operation, outcome }], 0, lock.fence, versionAt);
    }
  }
}

/**
 * Settles the deletes of renamed products, without sending them, whose new url the store has not acknowledged, or has answered with
 * the id of the old one: the product would be under no url.
 */
async function cancelDeletesOfUnrenamed(
  context: RunContext,
  { run, store, lock }: Delivery,
  shards: readonly PlannedShard[],
) {
  const ledger = context.state.ledger(importTarget(run));
  for (const shard of shards) {
    const open = await unsentOperations(context, run, shard);
    const deletes = open.filter((operation) => operation.kind === 'delete-product');
    const single = deletes.filter(({ renamedTo }) => open.every(({ key }) => key !== renamedTo));
    const marks = await ledger.marks(single.map(({ renamedTo = '' }) => renamedTo));
    const results = single.flatMap((operation, index) => {
      const mark = marks[index];
      const isKnown = mark !== undefined && mark.fingerprint !== IN_DOUBT;
      if (isKnown && mark.id !== operation.id) return [];
      const outcome = isKnown ? ({ kind: 'applied', id: null } as const) : ({ kind: 'left' } as const);
      return [{ operation, outcome }];
    });
    if (results.length === 0) continue;
    await context.state.runs.record(run, shard.number, results, 0, lock.fence, versionTime(context, store));
  }
}

/** Equal for urls that a store may treat as one: without case, accents and punctuation. */
function normalisedSpelling(url: string): string {
  return (decodedPercents(url) ?? url)
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Sends all shards as one stream from this process, so that no slot is idle at the end of a shard. */
export const deliverInProcess: DeliverShards = async (context, delivery, shards) => {
  await deliverWithTraffic(
    runTraffic(context.artifacts.run(delivery.run.id), context.clock),
    context,
    delivery,
    shards,
  );
};

/** The operations without a final outcome, one shard at a time. */
async function* readOperationsToSend(
  context: RunContext,
  run: Run,
  shards: readonly PlannedShard[],
): AsyncGenerator<readonly ShardOperation[]> {
  for (const shard of shards) {
    const open = await unsentOperations(context, run, shard);
    yield joinPairs(open.map((operation) => ({ ...operation, shard: shard.number })));
  }
}

/** Operations with each upsert that gives a product a new url together with the end of its old key. */
export function joinPairs(operations: readonly ShardOperation[]): readonly ShardOperation[] {
  const endings = new Map<string, ShardOperation['ending']>();
  for (const one of operations) {
    if (one.kind === 'delete-product' && one.renamedTo !== undefined) endings.set(one.renamedTo, one);
  }
  if (endings.size === 0) return operations;
  const paired = operations.flatMap((one) => {
    const ending =
      one.kind === 'upsert-product' && one.putId !== undefined ? endings.get(one.key) : undefined;
    return ending === undefined ? [] : [{ ...one, ending }];
  });
  const joined = new Set<ShardOperation>(paired.map(({ ending }) => ending));
  const keys = new Set(paired.map(({ key }) => key));
  return [...paired, ...operations.filter((one) => !joined.has(one) && !keys.has(one.key))];
}

function onProgress(
  { onEvent }: RunContext,
  { shards, counts }: Plan,
  { applied, rejected, deleted }: Pick<OutcomeTally, 'applied' | 'rejected' | 'deleted'>,
) {
  onEvent({
    type: 'progress',
    step: 'apply',
    done: applied + rejected + deleted,
    total: operationsIn(shards),
    unit: 'requests',
    records: { applied, rejected: counts.rejected.records + rejected },
  });
}

/** The error that ends a run because the store has refused more records than the limit allows. */
export function judgeRejected(
  { run, plan, job }: Pick<Delivery, 'run' | 'plan' | 'job'>,
  refused: number,
): SafetyLimitError | undefined {
  if (run.kind === 'retry' || run.approved) return undefined;
  const { resource, counts } = plan;
  const rejected = counts.rejected.records + refused;
  const figures = { resource, rejected, records: consideredRecords(plan) };
  const verdict = judgeRejectsWhileApplying(job.safety, figures, run.id);
  return verdict === null ? undefined : new SafetyLimitError(verdict.message);
}

/** Stock that was read longer ago is read again before it is sent: the plan has waited for an approval, or takes hours to be sent. */
const MAX_STOCK_AGE_MS = 15 * 60_000;

/** Sends shards from this process, and records the traffic. */
export async function deliverWithTraffic(
  traffic: RunTraffic,
  context: RunContext,
  delivery: Delivery,
  shards: readonly PlannedShard[],
  priority = 0,
): Promise<void> {
  const { run, plan, store, lock } = delivery;
  const { runs } = context.state;
  const before = await runs.tally(run.id);
  const storefront = await context.openStorefront(store);
  // What the plan has read was not in doubt; a run that is continued has the plan of its beginning.
  const isStockOld = (operation: ShardOperation) =>
    operation.kind === 'upsert-product' &&
    operation.stock !== undefined &&
    context.clock() - run.startedAt > MAX_STOCK_AGE_MS;
  const send = () =>
    sendOperations(context, {
      run,
      store,
      lock,
      priority,
      onEnded: traffic.onEnded,
      storefront: withAnswerListener(storefront, (key, body, answer) =>
        traffic.answers.add(key, body, answer, { keepValues: run.resource === 'products' }),
      ),
      operations: withCurrentStock(
        context,
        { run, store, isRead: isStockOld },
        storefront,
        readOperationsToSend(context, run, shards),
      ),
      firstShard: shards[0]?.number ?? 0,
      judge: (tally) => judgeRejected(delivery, before.rejected + tally.rejected),
      onProgress: ({ applied, rejected, deleted }) =>
        onProgress(context, plan, {
          applied: before.applied + applied,
          rejected: before.rejected + rejected,
          deleted: before.deleted + deleted,
        }),
    });
  try {
    await traffic.during(storefront, send);
  } finally {
    // Information for people only: its failure must not hide the error that ended the run.
    if (lock.isHeld())
      await runs.update(run.id, { limits: readFoundLimits(store, storefront) }).catch(() => {});
  }
}

function readFoundLimits({ limits }: StoreConfig, storefront: Storefront): FoundLimits {
  const { limit: concurrency, because, requestsPerSecond } = storefront.stats();
  if (requestsPerSecond === null) return { concurrency, because, rate: null };
  const isGiven = requestsPerSecond === limits.requestsPerSecond;
  const why = isGiven ? 'the limit in stores.yaml' : 'the store refused more';
  return { concurrency, because, rate: { requestsPerSecond, because: why } };
}
