import type { Outcome } from '../model/outcome.ts';
import type { State } from '../state/state.ts';

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/**
 * The state, with the secrets taken out of every message that is stored of a run: why it ended, and what the store said of
 * its records. What is read of it afterwards, for whichever report, has none.
 */
export function redactedState(state: State, redact: Redact): State {
  const { runs } = state;
  const withoutSecrets = <Changes extends { readonly error?: string | null }>(changes: Changes): Changes =>
    typeof changes.error === 'string' ? { ...changes, error: redact(changes.error) } : changes;
  return {
    ...state,
    runs: {
      ...runs,
      create: (run) => runs.create(withoutSecrets(run)),
      update: (id, changes) => runs.update(id, withoutSecrets(changes)),
      record: (run, shard, results, ...more) =>
        runs.record(
          run,
          shard,
          results.map((result) => ({ ...result, outcome: redactedOutcome(result.outcome, redact) })),
          ...more,
        ),
    },
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}

function redactedOutcome(outcome: Outcome, redact: Redact): Outcome {
  switch (outcome.kind) {
    case 'applied':
    case 'left':
      return outcome;
    case 'rejected':
    case 'unsent':
      return { ...outcome, reason: { ...outcome.reason, message: redact(outcome.reason.message) } };
    default:
      return outcome satisfies never;
  }
}
