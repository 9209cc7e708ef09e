import type { SafetyVerdict } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { safetyRule } from '../model/safety-limits.ts';
import type { RunFacts } from './summary-text.ts';

/** What a limit was held against, without the limit: `52 of 100 products would be deleted`. */
export function safetyFound(
  { limit, figure, base }: SafetyVerdict,
  { resource }: Pick<Run, 'resource'>,
): string {
  return safetyRule(limit).found({ figure, base }, resource === 'contacts' ? 'contacts' : 'products');
}

/**
 * The safety limits as they stand now, those that stopped the run first. Rejections of the store count too: a run may
 * be stopped by them when its plan was within the limit.
 */
export function verdictsNow({ run, plan, totals }: RunFacts): SafetyVerdict[] {
  if (plan === null) return [];
  const byPlan = plan.safety.some(({ exceeded }) => exceeded);
  const byStore = run.status === 'stopped' && totals.requests > 0 && !byPlan;
  return plan.safety
    .map((verdict) =>
      verdict.limit === 'maxRejects' && totals.requests > 0
        ? { ...verdict, figure: totals.rejected, exceeded: verdict.exceeded || byStore }
        : verdict,
    )
    .sort((a, b) => Number(b.exceeded) - Number(a.exceeded));
}
