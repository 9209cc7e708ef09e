import { isPriceMove, type Move } from '../../model/move.ts';
import type { Plan } from '../../model/plan.ts';
import { type Block, foreign, only, paragraph, type Section, type Words } from '../document.ts';
import { headline } from '../headline.ts';
import { isOnlyPlanned, type RunFacts, type View } from '../run-facts.ts';
import { formatChange, formatNumber, moveFieldWords } from '../wording/changes.ts';
import { counted } from '../wording/words.ts';

/** So many unusual prices are named; where they stop the run, so many. */
const MOVES_SHOWN = 3;
const MOVES_SHOWN_OF_STOP = 10;
const LONGEST_NAME = 60;

/** What happened in one sentence, why, and what must be looked at before anything is done. */
export function leadSection(facts: RunFacts, view: View): Section | null {
  const { run, plan, reportFile } = facts;
  if (view.progress === true && run.status === 'running' && run.error === null) return null;
  const { sentence, explanation } = headline(facts);
  // The sentence names the limit that stopped it.
  const isExplained = run.error === null || (run.status === 'stopped' && plan !== null);
  const blocks: Block[] = [paragraph([sentence], { role: 'headline' })];
  if (explanation.length > 0) blocks.push(paragraph(explanation, { role: 'explanation' }));
  if (!isExplained) {
    const why = only('page', [{ as: 'strong', words: 'Why:' }, ' ']);
    blocks.push(paragraph([[why, foreign(run.error ?? '')]], { role: 'problem' }));
  } else if (run.error !== null) {
    blocks.push(paragraph([sentence], { role: 'problem', only: 'message' }));
  }
  if (reportFile !== null) blocks.push(paragraph([`Report with pictures: ${reportFile}`], { only: 'text' }));
  if (plan !== null) blocks.push(...unusualPrices(facts, plan));
  return { id: 'lead', title: null, blocks };
}

function unusualPrices(facts: RunFacts, { moves, priceMoves, safety }: Plan): Block[] {
  const unusual = moves.prices.filter(isPriceMove);
  if (unusual.length === 0) return [];
  const stops = safety.some(({ limit, exceeded }) => limit === 'maxPriceMoves' && exceeded);
  const shown = unusual.slice(0, stops ? MOVES_SHOWN_OF_STOP : MOVES_SHOWN);
  // Plans of earlier versions did not count them.
  const left = Math.max(unusual.length, priceMoves) - shown.length;
  const items = [...shown.map(moveWords), ...(left > 0 ? [`and ${counted(left, 'more product')}`] : [])];
  const what = isOnlyPlanned(facts) ? 'Look at this first' : 'Look at this';
  return [
    {
      kind: 'list',
      style: 'alert',
      // Of what is done already, a page has the prices to look up.
      ...(isOnlyPlanned(facts) ? {} : { only: 'page' }),
      title: [{ as: 'strong', words: `${what}:` }, ' prices that change more than usual'],
      items: items.map((words) => ({ words, tone: 'warning' })),
    },
  ];
}

/** `lamp (Large): price 10.00 → 1,000.00 (×100)`. */
function moveWords(move: Move): Words {
  const { key, what, old, new: now } = move;
  return [
    foreign(key, LONGEST_NAME),
    what !== null && [' (', foreign(what, LONGEST_NAME), ')'],
    `: ${moveFieldWords(move)} ${formatNumber(move, old)} → `,
    { as: 'strong', words: formatNumber(move, now) },
    ` (${formatChange(old, now)})`,
  ];
}
