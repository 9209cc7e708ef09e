import type { SafetyVerdict } from '../../../model/plan.ts';
import { safetyLimit, safetyRule } from '../../../model/safety-limits.ts';
import { safetyFound, verdictsNow } from '../../safety-words.ts';
import { printable } from '../../wording/printable.ts';
import { sentence } from '../../wording/words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { badge } from '../status-badge.ts';

/** The safety limits of the job, those that stopped it first; null where it has none. */
export function safetySection(facts: ReportFacts): Markup | null {
  const verdicts = verdictsNow(facts);
  if (verdicts.length === 0) return null;
  const stops = verdicts.some(({ exceeded }) => exceeded);
  const passed = facts.run.approved ? 'Safety limits: a person said yes' : 'Safety limits: stopped';
  const table = dataTable({
    caption: 'What each limit was held against, before the first request',
    captionHidden: true,
    columns: [
      { header: 'Guards against' },
      { header: 'Verdict', bare: true },
      { header: 'Found', bare: true },
      { header: 'Limit' },
    ],
    rows: verdicts.map((verdict) => [
      html`${safetyRule(verdict.limit).title} <code class="setting">${verdict.limit}</code>`,
      verdictMark(verdict),
      html`${sentence(safetyFound(verdict, facts.run))}${limitMeter(verdict)}`,
      limitWords(verdict),
    ]),
  });
  return section('safety', stops ? passed : 'Safety limits: all within', table);
}

function verdictMark({ exceeded }: SafetyVerdict): Markup {
  return exceeded ? badge('bad', 'beyond the limit') : badge('good', 'within');
}

/** Plans of earlier versions did not keep their limits. */
function limitWords({ limit, figure, allowed }: SafetyVerdict): string {
  if (limit === 'key') return 'must not change';
  const { bound } = safetyLimit(limit);
  if (allowed === undefined) return bound === 'fewest' && figure === 0 ? 'not empty' : '–';
  return `${bound === 'fewest' ? 'at least' : 'at most'} ${printable(allowed.text)}`;
}

/** How far the figure is from its limit, drawn; the words beside it say the same. */
function limitMeter({ limit, figure, base, allowed, exceeded }: SafetyVerdict): Markup | null {
  if (allowed === undefined || base === null || base === 0 || limit === 'key') return null;
  const whole = Math.max(base, figure, allowed.amount);
  const percent = (value: number) => `${Number(((value / whole) * 100).toFixed(2))}%`;
  return html`<svg class="meter" aria-hidden="true" width="100%" height="16"><rect class="meter-track" x="0" y="5" width="100%" height="6"/><rect class="${exceeded ? 'meter-bad' : 'meter-good'}" x="0" y="5" width="${percent(figure)}" height="6"/><rect class="meter-limit" x="${percent(Math.min(allowed.amount, whole * 0.996))}" y="0" width="2" height="16"/></svg>`;
}
