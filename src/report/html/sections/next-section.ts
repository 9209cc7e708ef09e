import { afterExport } from '../../export-text.ts';
import { nextSteps } from '../../next-steps.ts';
import { isOnlyPlanned } from '../../outcomes.ts';
import { paceWords } from '../../pace-words.ts';
import { rejectsLines } from '../../rejects-lines.ts';
import { counted } from '../../wording/words.ts';
import { command } from '../command.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';

/** What to do, and the commands to type unless there are buttons for it; null where nothing is left to do. */
export function nextSection(facts: ReportFacts): Markup | null {
  const { run, plan, program, rejectsFile, changedIdCount, exported = null, actions = null } = facts;
  if (actions !== null) return actions;
  const isExported = exported !== null && run.status === 'done';
  const steps = isExported
    ? afterExport(exported, run, program)
    : nextSteps({ ...run, rejectsFile }, plan, program, changedIdCount);
  if (steps.length === 0) return null;
  const files = namesRejects(facts) ? rejectsLines(rejectsFile, plan?.rejections ?? []) : [];
  return section(
    'next',
    'What to do next',
    html`<div class="steps">
${requestsToCome(facts)}${files.map((line) => html`<p>${foreign(line)}</p>`)}
${steps.map(({ what, command: text }) => html`<div class="step"><p>${what}</p>${command(text)}</div>`)}
<p class="hint">Commands are typed in a terminal where Storeferry is installed.</p>
</div>`,
  );
}

/** Whether what to do next is about the rejects file, and so names it. */
export function namesRejects({ run, actions = null }: ReportFacts): boolean {
  return run.status === 'done-with-rejects' && actions === null;
}

function requestsToCome(facts: ReportFacts): Markup | null {
  const { plan, pace = null } = facts;
  if (plan === null || !isOnlyPlanned(facts)) return null;
  const requests = plan.shards.reduce((sum, { operations }) => sum + operations, 0);
  const words = paceWords(requests, pace);
  if (words === null) return null;
  return html`<p>Sending takes ${counted(requests, 'request')}: ${words}.</p>`;
}
