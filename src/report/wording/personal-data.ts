import type { ReasonGroup } from '../../model/plan.ts';
import type { Reason } from '../../model/reason.ts';
import type { Run } from '../../model/run.ts';

/** What an e-mail address looks like, wherever a store quotes one. */
const ADDRESS = /[^\s@<>()[\]"'`“”‘’,;:]+@[^\s@<>()[\]"'`“”‘’,;:]+/gu;
/** Digits as many as a telephone number has, with what people write between them. */
const PHONE = /\+?\d(?:[ ()./-]{0,2}\d){6,}/g;

/** Keeps the shape of addresses and telephone numbers in a sentence, and hides whose they are. */
export function masked(sentence: string): string {
  return sentence.replaceAll(ADDRESS, hidden).replaceAll(PHONE, hidden);
}

function hidden(found: string): string {
  return found.replaceAll(/(?<=[\p{L}\p{N}\p{M}])[\p{L}\p{N}\p{M}]/gu, '•');
}

interface MayQuotePeople {
  readonly run: Run;
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
}

/**
 * The facts of a run fit for a page that is mailed. Our own sentences quote nobody, but those of a store may quote the
 * contact it refuses: the lines say which it is.
 */
export function withoutPersonalData<Facts extends MayQuotePeople>(facts: Facts): Facts {
  if (facts.run.resource !== 'contacts') return facts;
  return {
    ...facts,
    refusals: facts.refusals.map((group) => ({ ...group, message: masked(group.message) })),
    unsentReasons: facts.unsentReasons.map(({ reason, count }) => ({
      reason: { ...reason, message: masked(reason.message) },
      count,
    })),
  };
}
