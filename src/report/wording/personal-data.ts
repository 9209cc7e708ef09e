import { masked, withoutPeople } from '../../model/masked.ts';
import type { Plan } from '../../model/plan.ts';
import type { Reason, ReasonGroup } from '../../model/reason.ts';
import type { Run } from '../../model/run.ts';

interface MayQuotePeople {
  readonly run: Run;
  readonly plan?: Plan | null;
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
}

/** Codes of reasons whose message quotes the store: `store-422`, `answer-unproved`. */
const OF_STORE = /^(?:store|answer)-/;

/**
 * The facts of a run fit for what leaves this machine: a page that is mailed, a webhook. The words of a store name nobody,
 * whatever the resource; of our own sentences, those about contacts and orders lose addresses and numbers.
 */
export function withoutPersonalData<Facts extends MayQuotePeople>(facts: Facts): Facts {
  const { run, plan } = facts;
  const ours = (text: string) => (run.resource === 'products' ? text : masked(text));
  const unquoted = <Quoting extends { readonly code: string; readonly message: string }>(
    reason: Quoting,
  ) => ({
    ...reason,
    message: OF_STORE.test(reason.code) ? withoutPeople(reason.message, []) : ours(reason.message),
  });
  return {
    ...facts,
    run: run.error === null ? run : { ...run, error: ours(run.error) },
    ...(plan == null ? {} : { plan: { ...plan, rejections: plan.rejections.map(unquoted) } }),
    refusals: facts.refusals.map(unquoted),
    unsentReasons: facts.unsentReasons.map(({ reason, count }) => ({ reason: unquoted(reason), count })),
  };
}

/**
 * Why records were rejected, for a webhook: of contacts and orders without the words of the store, of which only status and
 * field are given. A mask cannot know every name.
 */
export function reasonsForWebhook(
  reasons: readonly ReasonGroup[],
  { resource }: Pick<Run, 'resource'>,
): readonly ReasonGroup[] {
  if (resource === 'products') return reasons;
  return reasons.map((reason) =>
    OF_STORE.test(reason.code) ? { ...reason, message: statusOf(reason) } : reason,
  );
}

function statusOf({ code, field }: ReasonGroup): string {
  const status = /^store-(\d{3})$/.exec(code)?.[1];
  const what =
    status === undefined ? `the answer of the store is \`${code}\`` : `the store answered ${status}`;
  return `${what}${field === null ? '' : ` for ${field}`} (its message is in the report)`;
}
