import type { SafetyVerdict } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { RunFacts } from './summary-text.ts';
import { counted, grouped } from './wording/words.ts';

/** What a limit was held against, without the limit: `52 of 100 products would be deleted`. */
export function safetyFound(
  { limit, figure, base }: SafetyVerdict,
  { resource }: Pick<Run, 'resource'>,
): string {
  const of = base === null ? grouped(figure) : `${grouped(figure)} of ${grouped(base)}`;
  const things = resource === 'contacts' ? 'contacts' : 'products';
  switch (limit) {
    case 'maxDeletes':
      return `${of} ${things} would be deleted`;
    case 'maxRejects':
      return `${of} records ${(base ?? figure) === 1 ? 'is' : 'are'} rejected`;
    case 'maxChanges':
      return `${of} known ${things} would change`;
    case 'minRows':
      if (figure === 0) return 'the source has no rows';
      return `the source has ${counted(figure, 'row')}${base === null ? '' : `, the run before had ${grouped(base)}`}`;
    case 'key':
      return `what identifies a record has changed: ${grouped(figure)} ${things} look new, and ${grouped(base ?? 0)} are missing`;
    default:
      return limit satisfies never;
  }
}

/** What a limit guards against, as a name. */
export function safetyName(limit: SafetyVerdict['limit']): string {
  switch (limit) {
    case 'maxDeletes':
      return 'Deletions';
    case 'maxRejects':
      return 'Rejected records';
    case 'maxChanges':
      return 'Changes';
    case 'minRows':
      return 'A source too short';
    case 'key':
      return 'Another key';
    default:
      return limit satisfies never;
  }
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
