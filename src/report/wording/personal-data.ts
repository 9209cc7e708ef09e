import { masked } from '../../model/personal-data.ts';
import type { Plan, ReasonGroup } from '../../model/plan.ts';
import type { Reason } from '../../model/reason.ts';
import type { Run } from '../../model/run.ts';

interface MayQuotePeople {
  readonly run: Run;
  readonly plan?: Plan | null;
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
}

/**
 * The facts of a run fit for what leaves this machine: a page that is mailed, a webhook. Our own sentences quote nobody, and a
 * store's have lost their names as they came in; runs of earlier versions have not.
 */
export function withoutPersonalData<Facts extends MayQuotePeople>(facts: Facts): Facts {
  const { run, plan } = facts;
  if (run.resource === 'products') return facts;
  const unquoted = (groups: readonly ReasonGroup[]) =>
    groups.map((group) => ({ ...group, message: masked(group.message) }));
  return {
    ...facts,
    run: run.error === null ? run : { ...run, error: masked(run.error) },
    ...(plan == null ? {} : { plan: { ...plan, rejections: unquoted(plan.rejections) } }),
    refusals: unquoted(facts.refusals),
    unsentReasons: facts.unsentReasons.map(({ reason, count }) => ({
      reason: { ...reason, message: masked(reason.message) },
      count,
    })),
  };
}
