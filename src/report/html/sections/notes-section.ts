import { verifyStep } from '../../next-steps.ts';
import { verificationNotes } from '../../verification-words.ts';
import { changedIdWarnings, leftDeletesWarnings, planWarnings, stateWarnings } from '../../warning-lines.ts';
import { counted } from '../../wording/words.ts';
import { html, type Markup, type Slot } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';

const NOTES_SHOWN = 40;
const LONGEST_NOTE = 1_500;

/** Warnings, and what was changed on the way; null where there is nothing to know. */
export function notesSection(facts: ReportFacts): Markup | null {
  const { run, plan, exported = null, actions = null } = facts;
  const { verification, resource } = run;
  // Where buttons take the place of the commands to type, none of them verifies.
  const command = actions === null ? undefined : verifyStep(run, facts.program)?.command;
  const warnings = [
    ...stateWarnings(run),
    ...leftDeletesWarnings(facts.leftDeletes ?? 0),
    ...(verification === undefined ? [] : verificationNotes(verification, resource)),
    ...changedIdWarnings(facts, command),
    ...(plan === null ? [] : planWarnings(plan)),
    ...(exported?.notes ?? []),
  ];
  const notices = (plan?.notices ?? []).map(
    ({ message, records }) => html`${counted(records, 'record')}: ${foreign(message)}`,
  );
  const items: Slot[] = [
    ...warnings.map(
      (warning) =>
        html`<li class="warning"><span class="sign" aria-hidden="true">!</span> ${foreign(warning, LONGEST_NOTE)}</li>`,
    ),
    ...notices.map((notice) => html`<li>${notice}</li>`),
  ];
  if (items.length === 0) return null;
  const left = items.length - NOTES_SHOWN;
  return section(
    'notes',
    'Worth knowing',
    html`<ul class="notes">${items.slice(0, NOTES_SHOWN)}</ul>${left > 0 && html`<p class="more">And ${counted(left, 'more note')}.</p>`}`,
  );
}
