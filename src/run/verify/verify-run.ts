import type { ImportJob } from '../../config/job/job.ts';
import { countUnder } from '../../model/json-object.ts';
import { type Resource, withoutConsent } from '../../model/mapped-record.ts';
import { AS_ACKNOWLEDGED, type Observation, otherUrlIn } from '../../model/observation.ts';
import { answeredDifferences, type Operation, type Outcome, SHARD_SIZE } from '../../model/operation.ts';
import { forgotten, type Run, type ShareEstimate, type Verification } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { fingerprintOf } from '../../plan/plan-import.ts';
import { NO_TOTALS, type RunFacts } from '../../report/run-facts.ts';
import {
  chunksOf,
  FORGOTTEN_BODY,
  IN_DOUBT,
  importTarget,
  type Ledger,
  type LedgerMark,
} from '../../state/state.ts';
import { withAnswerListener } from '../answer-tally.ts';
import { endRun } from '../end-run.ts';
import { unsentError } from '../import/finish-step.ts';
import { withCurrentStock } from '../import/product-updates.ts';
import { productWrites } from '../kept-probe.ts';
import { createReconciledRun, lockJob, lockTarget } from '../lock-job.ts';
import type { RunContext, VerifyRequest } from '../run-context.ts';
import { newRun, runPipeline } from '../run-pipeline.ts';
import { type ShardOperation, sendOperations } from '../send-operations.ts';

/** Counts the results of a re-sent sample. */
function verificationTally() {
  const counts = { asKnown: 0, recreated: 0, altered: 0, rejected: 0, missing: 0 };
  const alteredFields = new Map<string, number>();
  return {
    /** Adds the final outcome of an operation, with the fields in which its answer differs from the request. */
    add(operation: Operation, outcome: Outcome, altered: readonly string[]): void {
      switch (outcome.kind) {
        case 'applied':
          for (const field of isOtherId(operation, outcome.id) ? [] : altered)
            countUnder(alteredFields, field);
          if (isOtherId(operation, outcome.id)) counts.recreated++;
          else if (altered.length > 0) counts.altered++;
          else counts.asKnown++;
          return;
        case 'rejected':
          counts.rejected++;
          if (outcome.absent) counts.missing++;
          return;
        case 'unsent':
        case 'left':
          return;
        default:
          outcome satisfies never;
      }
    },
    /** The findings so far; records without an outcome are unsent. */
    result({ keys, known, notComparable }: LedgerSample): Verification {
      const held = counts.asKnown + counts.altered;
      const sampled = keys.length;
      const found = forgotten(counts);
      return {
        sampled,
        known,
        notComparable,
        ...counts,
        unsent: sampled - held - counts.recreated - counts.rejected,
        alteredFields: [...alteredFields]
          .map(([field, records]) => ({ field, records }))
          .sort((one, other) => other.records - one.records || (one.field < other.field ? -1 : 1)),
        // A refusal for another reason does not show whether the store has the record.
        forgottenShare: forgottenShare({ population: known, sampled: held + found, found }),
      };
    },
  };
}

function isOtherId(operation: Operation, answered: number | null) {
  if (operation.kind !== 'upsert-product' || operation.knownId === null || answered === null) return false;
  return operation.knownId !== answered;
}

/** The probability that each bound is wrong: with two bounds, and with only one. */
const RISK_OF_EACH = 0.025;
const RISK_OF_ONE = 0.05;

/** A random sample without repetition, and how many of its records the store has lost. */
interface SampleFound {
  readonly population: number;
  readonly sampled: number;
  readonly found: number;
}

/**
 * The share of lost records in a population, estimated from a random sample. The bounds are exact for a sample
 * without repetition (hypergeometric), so a sample of everything leaves no uncertainty. Each bound is wrong in at
 * most 2.5 % of samples. If the sample found no lost record or only lost ones, there is one bound, wrong in at most 5
 * % (the rule of three: 0 of 50 gives about 3/50).
 */
export function forgottenShare({ population, sampled, found }: SampleFound): ShareEstimate {
  if (sampled === 0) return { estimate: null, low: 0, high: 1 };
  const kept = sampled - found;
  const risk = found === 0 || kept === 0 ? RISK_OF_ONE : RISK_OF_EACH;
  const mostForgotten = found === sampled ? population : mostMarked(population, sampled, found, risk);
  const mostKept = found === 0 ? population : mostMarked(population, sampled, kept, risk);
  return {
    estimate: found / sampled,
    low: (population - mostKept) / population,
    high: mostForgotten / population,
  };
}

/**
 * The largest number of marked items for which a sample has at most `found` of them with more than the probability
 * `risk`.
 */
function mostMarked(population: number, sampled: number, found: number, risk: number) {
  let low = found;
  let high = population - (sampled - found);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (atMost(population, middle, sampled, found) > risk) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The probability that a sample has at most `found` of the marked items of a population. */
function atMost(population: number, marked: number, sampled: number, found: number) {
  const unmarked = population - marked;
  const least = Math.max(0, sampled - unmarked);
  if (found < least) return 0;
  const most =
    logChoose(marked, found) + logChoose(unmarked, sampled - found) - logChoose(population, sampled);
  // From the largest count downwards, each term relative to the first, so that no term underflows.
  let term = 1;
  let sum = 1;
  for (let count = found; count > least; count--) {
    term *= (count * (unmarked - sampled + count)) / ((marked - count + 1) * (sampled - count + 1));
    sum += term;
    if (term < sum * Number.EPSILON) break;
  }
  return Math.min(1, Math.exp(most + Math.log(sum)));
}

function logChoose(all: number, chosen: number) {
  return logFactorial(all) - logFactorial(chosen) - logFactorial(all - chosen);
}

const EXACT_BELOW = 32;

/** Stirling's series; below 32 the product itself. Its relative error is under 1e-12. */
function logFactorial(n: number) {
  if (n < EXACT_BELOW) {
    let sum = 0;
    for (let factor = 2; factor <= n; factor++) sum += Math.log(factor);
    return sum;
  }
  const square = n * n;
  return (
    n * Math.log(n) -
    n +
    0.5 * Math.log(2 * Math.PI * n) +
    (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / n
  );
}

/**
 * Estimates how many records of the ledger the store has lost: sends a random sample of the acknowledged bodies
 * again, because the API has no product look-up, and compares the answers with the ledger. Locks the job and the
 * resource of the store like a run; outcomes and changed ids are recorded. Rejects as `runPipeline`.
 */
export async function verifyRun(surroundings: RunContext, request: VerifyRequest): Promise<RunFacts> {
  const { job, store } = request;
  const tally = verificationTally();
  let sample: LedgerSample = { keys: [], known: 0, notComparable: 0 };
  return await runPipeline(surroundings, {
    run: newRun(surroundings, request, { kind: 'verify', step: 'apply' }),
    lock: lockJob,
    async steps(work) {
      const { context } = work;
      // Before anything is sent: otherwise new groups would let the serial of an older state catch up with its
      // witness.
      work.begin(await createReconciledRun(context, work.run));
      const { run } = work;
      await using lock = await lockTarget(context, run);
      sample = await drawSample(context, request, run);
      const { keys, known } = sample;
      context.onEvent({ type: 'sampled', run, records: keys.length, known });
      await context.state.history(importTarget(run)).begin(run, context.clock(), []);
      // As a run sends: with the same limits, ledger and stops.
      const altered = new Map<string, readonly string[]>();
      const storefront = await context.openStorefront(store);
      const { reads } = await productWrites(context, run, store);
      await sendOperations(context, {
        run,
        store,
        lock,
        operations: withCurrentStock(
          context,
          { run, store, isRead: () => reads },
          storefront,
          sampledOperations(context.state.ledger(importTarget(run)), job, keys),
        ),
        firstShard: 1,
        storefront: withAnswerListener(storefront, (key, body, answer) =>
          altered.set(key, answeredDifferences(body, answer).altered),
        ),
        onRecorded(results) {
          for (const { operation, outcome } of results) {
            tally.add(operation, outcome, altered.get(operation.key) ?? []);
            altered.delete(operation.key);
          }
        },
        onProgress: ({ applied, rejected }) =>
          context.onEvent({
            type: 'progress',
            step: 'apply',
            done: applied + rejected,
            total: keys.length,
            unit: 'requests',
            records: { applied, rejected },
          }),
      });
    },
    async finish({ context, run }, failure) {
      const { requests } = await context.state.runs.tally(run.id);
      const verification = tally.result(sample);
      const { sampled, asKnown, recreated, altered, rejected, unsent } = verification;
      const applied = asKnown + recreated + altered;
      const figures = { records: sampled, operations: sampled, applied, rejected, unsent, requests };
      return await endRun(context, run, failure, {
        ...(failure === null && unsent > 0 && { status: 'failed', error: unsentError(unsent) }),
        totals: { ...NO_TOTALS, ...figures },
        verification,
        writesReport: false,
      });
    },
  });
}

async function drawSample(
  { state, signal }: RunContext,
  { job, sample: size, random }: VerifyRequest,
  run: Run,
) {
  const ledger = state.ledger(importTarget(run));
  const sample = await sampleLedger(ledger, { job: job.name, resource: job.import, size, random, signal });
  if (sample.keys.length === 0) throw nothingSampled(job, sample, 'verified');
  return sample;
}

/** Why no record of a job can be verified or compared. */
export function nothingSampled(
  { name, mode }: ImportJob,
  { notComparable }: Pick<LedgerSample, 'notComparable'>,
  done: string,
): StateError {
  return notComparable > 0
    ? new StateError(`Nothing of the job ${name} can be ${done}: its records are in doubt or have no id.`, {
        hint: `The next run sends what is in doubt again: storeferry run ${name}`,
      })
    : new StateError(`The ledger has no acknowledged record of the job ${name}.`, {
        hint:
          mode === 'update'
            ? 'An update changes products of other jobs: name the job that sends them as a whole.'
            : `Run it first: storeferry run ${name}`,
      });
}

async function* sampledOperations(
  ledger: Ledger,
  { import: resource }: ImportJob,
  sampled: readonly string[],
): AsyncGenerator<readonly ShardOperation[]> {
  let shard = 0;
  for (const keys of chunksOf(sampled, SHARD_SIZE)) {
    shard++;
    yield (await knownRecords(ledger, keys)).flatMap((record, index) =>
      record !== undefined &&
      isComparable(record.mark, resource) &&
      otherUrlIn(record.observation) === undefined
        ? [leavingConsent(repeatingOperation(record, resource, index, shard))]
        : [],
    );
  }
}

/** Of a contact that has more than its consent, everything else. */
function leavingConsent(operation: ShardOperation): ShardOperation {
  if (operation.kind !== 'update-contact') return operation;
  const fields = withoutConsent(JSON.parse(operation.body));
  return fields.length === 0 ? operation : { ...operation, part: { fields } };
}

/** A sample of keys from the ledger, and counts of all keys of the job: `known` includes those that `includes` leaves out. */
interface LedgerSample {
  readonly keys: readonly string[];
  /** Acknowledged keys of the job whose answers can be compared: for products those with an id. */
  readonly known: number;
  /** The other keys of the job. */
  readonly notComparable: number;
}

interface Sampling {
  readonly job: string;
  readonly resource: Resource;
  /** The most keys to draw. */
  readonly size: number;
  /** Which keys may be drawn; left out: all. */
  readonly includes?: ((key: string) => boolean) | undefined;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Draws keys of a job at random with equal probability. Memory is used for the sample only (a reservoir). */
export async function sampleLedger(
  ledger: Pick<Ledger, 'keysOf' | 'marks'>,
  { job, resource, size, includes = () => true, random, signal }: Sampling,
): Promise<LedgerSample> {
  const keys: string[] = [];
  let known = 0;
  let eligible = 0;
  let notComparable = 0;
  for await (const batch of ledger.keysOf(job)) {
    signal.throwIfAborted();
    const marks = await ledger.marks(batch.map(({ key }) => key));
    for (const [position, { key }] of batch.entries()) {
      if (!isComparable(marks[position], resource)) {
        notComparable++;
        continue;
      }
      known++;
      if (!includes(key)) continue;
      const place = eligible < size ? eligible : Math.floor(random() * (eligible + 1));
      if (place < size) keys[place] = key;
      eligible++;
    }
  }
  return { keys, known, notComparable };
}

/** The key of a contact is its id; a product is recognised by the id that the store answered. */
export function isComparable(mark: LedgerMark | undefined, resource: Resource): mark is LedgerMark {
  if (mark === undefined || mark.fingerprint === IN_DOUBT) return false;
  return resource === 'contacts' || mark.id !== null;
}

/** What the ledger has of a key. */
export interface KnownRecord {
  readonly key: string;
  readonly mark: LedgerMark;
  readonly body: string;
  /** What answers have shown beside the body. */
  readonly observation: Observation;
}

/** What the ledger has of each key; undefined where it has no body. */
export async function knownRecords(
  ledger: Ledger,
  keys: readonly string[],
): Promise<(KnownRecord | undefined)[]> {
  const [marks, bodies, views] = await Promise.all([
    ledger.marks(keys),
    ledger.bodies(keys),
    ledger.views(keys),
  ]);
  return keys.map((key, index) => {
    const [mark, body] = [marks[index], bodies[index]];
    if (mark === undefined || body === undefined || body === FORGOTTEN_BODY) return undefined;
    return { key, mark, body, observation: views[index]?.observation ?? AS_ACKNOWLEDGED };
  });
}

/** An operation that repeats what the ledger has, so that recording it can only change an id. */
export function repeatingOperation(
  { key, mark, body }: KnownRecord,
  resource: Resource,
  index: number,
  shard = 1,
): ShardOperation {
  const { memo, id: knownId } = mark;
  const fingerprint = mark.fingerprint === IN_DOUBT ? fingerprintOf(body) : mark.fingerprint;
  const operation = { index, key, rows: 0, spans: [], body, fingerprint, memo, shard };
  return resource === 'contacts'
    ? { kind: 'update-contact', ...operation }
    : { kind: 'upsert-product', ...operation, knownId };
}
