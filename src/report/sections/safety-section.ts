import { type SafetyVerdict, safetyFound } from '../../model/plan.ts';
import { refusedIn } from '../../model/run.ts';
import { isBeyond, safetyLimit, safetyRule, stoppedWave } from '../../model/safety-limits.ts';
import { capitalise } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { onlyIn, type Section, styled, table, type Words } from '../section.ts';

/** The safety limits of the job, exceeded ones first; null if it has none, or no plan. */
export function safetySection(facts: RunFacts): Section | null {
  const { run } = facts;
  const verdicts = safetyVerdicts(facts);
  if (verdicts.length === 0) return null;
  const stops = verdicts.some(({ exceeded }) => exceeded);
  const stopped = run.approved ? 'Safety limits: overridden by a person' : 'Safety limits: stopped';
  return {
    id: 'safety',
    title: stops ? stopped : 'Safety limits: none exceeded',
    ...(isOnlyPlanned(facts) || run.status === 'stopped' ? {} : { only: 'page' }),
    blocks: [
      table(
        'What each limit was compared with',
        ['Safety limit', ['Verdict', 'bare', 'leads'], ['Found', 'bare'], ['Allowed', 'page']],
        verdicts.map((verdict) => ({
          tone: verdict.exceeded ? 'bad' : 'quiet',
          cells: [
            [
              onlyIn('page', [safetyRule(verdict.limit).title, ' ', styled('setting', verdict.limit)]),
              onlyIn('text', [
                safetyFound(verdict, run),
                limitWords(verdict) !== null && `; limit: ${limitWords(verdict)}`,
              ]),
            ],
            [
              onlyIn('text', `${verdict.limit} `),
              verdict.exceeded
                ? { as: 'badge', tone: 'bad', words: isMinimum(verdict) ? 'not met' : 'exceeded' }
                : { as: 'badge', tone: 'good', words: 'within' },
            ],
            [onlyIn('page', capitalise(safetyFound(verdict, run))), meter(verdict)],
            limitWords(verdict) ?? '–',
          ],
        })),
      ),
    ],
  };
}

/**
 * The current verdicts, exceeded ones first. Rejections by the store count too: they stop a run whose plan was within the limit, unless a
 * person has approved it.
 */
export function safetyVerdicts({ run, plan, totals }: RunFacts): SafetyVerdict[] {
  if (plan === null) return [];
  const byPlan = plan.safety.some(({ exceeded }) => exceeded);
  const byStore =
    run.status === 'stopped' && totals.requests > 0 && !byPlan && stoppedWave(run) === undefined;
  const figure = refusedIn(totals);
  return plan.safety
    .map((verdict) =>
      verdict.limit === 'maxRejects' && totals.requests > 0
        ? { ...verdict, figure, exceeded: verdict.exceeded || byStore || exceedsRejects(verdict, figure) }
        : verdict,
    )
    .sort((a, b) => Number(b.exceeded) - Number(a.exceeded));
}

/** As when the plan was judged: a percentage stops nothing on few records. */
function exceedsRejects({ base, allowed }: SafetyVerdict, figure: number) {
  if (allowed === undefined) return false;
  const isSpared = allowed.text.includes('%') && (base ?? 0) < safetyLimit('maxRejects').floor.least;
  return !isSpared && isBeyond(figure, allowed.amount);
}

/** `at most 5%`; null if unknown, because plans of earlier versions did not store their limits. */
function limitWords({ limit, figure, allowed }: SafetyVerdict) {
  if (limit === 'key') return 'must not change';
  if (limit === 'prices') return 'must be kept';
  if (limit === 'guard') return allowed === undefined ? '0' : `at most ${allowed.text}`;
  const { bound } = safetyLimit(limit);
  if (allowed === undefined) return bound === 'fewest' && figure === 0 ? 'not empty' : null;
  return `${bound === 'fewest' ? 'at least' : 'at most'} ${allowed.text}`;
}

/** A limit that is a minimum cannot be exceeded, and neither can the key; `prices` counts what would be lost. */
function isMinimum({ limit }: SafetyVerdict) {
  return (
    limit === 'key' || (limit !== 'guard' && limit !== 'prices' && safetyLimit(limit).bound === 'fewest')
  );
}

function meter({ limit, figure, base, allowed, exceeded }: SafetyVerdict): Words {
  if (allowed === undefined || base === null || base === 0 || limit === 'key') return false;
  const whole = Math.max(base, figure, allowed.amount);
  return { as: 'drawing', drawing: { of: 'limit', figure, allowed: allowed.amount, whole, exceeded } };
}
