import { randomUUID } from 'node:crypto';
import { LockedError } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import { acknowledgedId, changedId } from '../acknowledged-id.ts';
import { encodeBody } from '../body-codec.ts';
import { doubtAfter } from '../doubt-after.ts';
import { importTarget } from '../import-target.ts';
import { targetTag } from '../lock-names.ts';
import type { OperationResult, Refusal, Runs } from '../state.ts';
import type { RedisConnection } from './connect.ts';
import type { RedisKeys } from './keys.ts';
import { markText } from './mark-text.ts';
import { OUTCOME_LETTERS, type OutcomeLetter, RECORD_SCRIPT } from './record-script.ts';

/** `Runs.record` on Redis. */
export function redisRecord({ client, ask }: RedisConnection, keys: RedisKeys): Runs['record'] {
  const process = randomUUID().slice(0, 8);
  let calls = 0;
  return async (run, shard, results, requests, fence) => {
    calls += 1;
    const tag = targetTag(importTarget(run));
    const written = [
      keys.marks(tag),
      keys.bodies(tag),
      keys.jobKeys(tag),
      keys.outcomes(tag, run.id),
      keys.tally(tag, run.id),
      keys.refusals(tag, run.id),
      keys.unsent(tag, run.id),
      keys.changedIds(tag, run.id),
      keys.doubts(tag),
      ...(fence === undefined ? [] : [keys.lock(fence.name)]),
    ];
    const args: (string | number | Buffer)[] = [fence?.token ?? '', run.job, shard, requests, process, calls];
    for (const result of results) pushResult(args, run, shard, result);
    const answer = await ask(client.eval(RECORD_SCRIPT, written.length, ...written, ...args));
    if (answer !== 'written') {
      throw new LockedError(`The lock ${fence?.name} was lost: nothing more is written.`, {
        hint: 'Another process may have taken over; run again to continue.',
      });
    }
  };
}

function pushResult(
  args: (string | number | Buffer)[],
  run: Run,
  shard: number,
  result: OperationResult,
): void {
  const { operation, outcome } = result;
  const push = (letter: OutcomeLetter, mark: string, payload: string | Buffer, changed = '') =>
    args.push(
      letter,
      operation.index,
      operation.rows,
      operation.key,
      mark,
      payload,
      changed,
      doubtAfter(outcome),
    );
  switch (outcome.kind) {
    case 'applied': {
      if (operation.kind === 'delete-product') {
        push(OUTCOME_LETTERS.deleted, '', '');
        return;
      }
      const { fingerprint, memo } = operation;
      const { id, idProof } = acknowledgedId(result);
      const mark = markText({
        ...{ fingerprint, id, job: run.job, ...(idProof === 'proven' ? {} : { idProof }) },
        ...(memo === undefined ? {} : { memo }),
      });
      const changed = changedId(result);
      push(
        OUTCOME_LETTERS.applied,
        mark,
        encodeBody(operation.body),
        changed === undefined ? '' : JSON.stringify(changed),
      );
      return;
    }
    case 'rejected': {
      const { index, key, rows, spans } = operation;
      const refusal: Refusal = { shard, index, key, rows, spans, reason: outcome.reason };
      push(OUTCOME_LETTERS.rejected, '', JSON.stringify(refusal));
      return;
    }
    case 'unsent':
      push(OUTCOME_LETTERS.unsent, '', JSON.stringify(outcome.reason));
      return;
    case 'left':
      push(OUTCOME_LETTERS.left, '', '');
      return;
    default:
      outcome satisfies never;
  }
}
