import type { Operation } from '../../model/operation.ts';
import type { Outcome } from '../../model/outcome.ts';
import { forgotten, type Verification } from '../../model/verification.ts';
import { forgottenShare } from './forgotten-share.ts';
import type { LedgerSample } from './sample-ledger.ts';

/** Counts what the answers to a re-sent sample say. */
export class VerificationTally {
  #asKnown = 0;
  #recreated = 0;
  #altered = 0;
  #rejected = 0;
  #missing = 0;
  readonly #alteredFields = new Map<string, number>();

  /** Adds the final outcome of an operation, with the fields in which its answer differs from what was sent. */
  add(operation: Operation, outcome: Outcome, altered: readonly string[]): void {
    switch (outcome.kind) {
      case 'applied':
        if (isOtherId(operation, outcome.id)) this.#recreated++;
        else if (altered.length === 0) this.#asKnown++;
        else this.#addAltered(altered);
        return;
      case 'rejected':
        this.#rejected++;
        if (outcome.absent) this.#missing++;
        return;
      case 'unsent':
      case 'left':
        return;
      default:
        outcome satisfies never;
    }
  }

  /** What has been found so far about the sample; what was not counted is unsent. */
  result({ keys, known, notComparable }: LedgerSample): Verification {
    const recreated = this.#recreated;
    const missing = this.#missing;
    const held = this.#asKnown + this.#altered;
    const sampled = keys.length;
    return {
      ...{ sampled, known, notComparable },
      asKnown: this.#asKnown,
      recreated,
      altered: this.#altered,
      rejected: this.#rejected,
      missing,
      unsent: sampled - held - recreated - this.#rejected,
      alteredFields: [...this.#alteredFields]
        .map(([field, records]) => ({ field, records }))
        .sort((one, other) => other.records - one.records || (one.field < other.field ? -1 : 1)),
      forgottenShare: forgottenShare({
        population: known,
        // A refusal for another reason says nothing about what the store holds.
        sampled: held + forgotten({ recreated, missing }),
        found: forgotten({ recreated, missing }),
      }),
    };
  }

  #addAltered(fields: readonly string[]): void {
    this.#altered++;
    for (const field of fields) this.#alteredFields.set(field, (this.#alteredFields.get(field) ?? 0) + 1);
  }
}

function isOtherId(operation: Operation, answered: number | null): boolean {
  if (operation.kind !== 'upsert-product' || operation.knownId === null || answered === null) return false;
  return operation.knownId !== answered;
}
