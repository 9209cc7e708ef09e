import type { Plan } from '../../model/plan.ts';
import { type Block, paragraph, type Section } from '../document.ts';
import { nextSteps } from '../next-steps.ts';
import { isOnlyPlanned, type Pace, type RunFacts, type View } from '../run-facts.ts';
import { formatDuration } from '../wording/durations.ts';
import { counted, grouped } from '../wording/words.ts';
import { namesRejects, rejectsFiles } from './rejected-section.ts';

/** What to do, and the commands for it; null where nothing is left to do, and where there are buttons for it. */
export function nextSection(facts: RunFacts, view: View): Section | null {
  const { plan } = facts;
  if (view.buttons === true) return null;
  const steps = nextSteps(facts, view.program);
  const blocks: Block[] = [
    ...(plan !== null && isOnlyPlanned(facts) ? requestsToSend(plan, view.pace ?? null) : []),
    ...(namesRejects(facts, view) ? rejectsFiles(facts) : []),
    ...steps.map(({ what, command }): Block => ({ kind: 'command', what, command })),
  ];
  if (steps.length === 0) return null;
  const hint = 'Type commands in a terminal where Storeferry is installed.';
  return {
    id: 'next',
    title: 'Next',
    blocks: [...blocks, paragraph([hint], { role: 'hint', only: 'page' })],
  };
}

function requestsToSend({ counts }: Plan, pace: Pace | null): Block[] {
  const writes = counts.new.records + counts.changed.records + counts.resent.records;
  const requests = writes + counts.deletes;
  if (requests === 0) return [];
  const kinds =
    counts.deletes === 0 ? '' : ` (${grouped(writes)} to write, ${grouped(counts.deletes)} to delete)`;
  const time = pace === null || pace.requestsPerSecond <= 0 ? '' : `: ${paceWords(requests, pace)}`;
  return [paragraph([`Sending takes ${counted(requests, 'request')}${kinds}${time}.`])];
}

/** `about 4 min at 20 a second, the limit in stores.yaml`. */
function paceWords(requests: number, { requestsPerSecond, because }: Pace): string {
  const ms = Math.max(1000, (requests / requestsPerSecond) * 1000);
  const rate = `${grouped(Math.round(requestsPerSecond * 10) / 10)} a second, ${because}`;
  return `about ${formatDuration(Math.ceil(ms / 1000) * 1000)} at ${rate}`;
}
