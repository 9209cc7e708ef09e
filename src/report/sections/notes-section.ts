import { foreign, type Section } from '../document.ts';
import { verifyStep } from '../next-steps.ts';
import type { RunFacts, View } from '../run-facts.ts';
import {
  changedIdWarnings,
  goneWarnings,
  leftDeletesWarnings,
  planWarnings,
  stateWarnings,
} from '../warning-lines.ts';
import { counted } from '../wording/words.ts';
import { verificationNotes } from './verification-section.ts';

const LONGEST_NOTE = 1_500;

/** Warnings, and what was changed on the way; null where there is nothing to know. */
export function notesSection(facts: RunFacts, view: View): Section | null {
  const { run, plan, exported } = facts;
  const { verification, resource } = run;
  // No button verifies: where buttons take the place of the commands, the warning names the command.
  const command = view.buttons === true ? verifyStep(run, view.program)?.command : undefined;
  const warnings = [
    ...stateWarnings(run),
    ...goneWarnings(run, view.buttons === true ? `${view.program} run ${run.job} --resend` : undefined),
    ...leftDeletesWarnings(facts.leftDeletes),
    ...(verification === undefined ? [] : verificationNotes(verification, resource)),
    ...changedIdWarnings(facts, command),
    ...(plan === null ? [] : planWarnings(plan)),
    ...(exported?.notes ?? []),
  ];
  const items = [
    ...warnings.map((warning) => ({ words: foreign(warning, LONGEST_NOTE), tone: 'warning' as const })),
    ...(plan?.notices ?? []).map(({ message, records }) => ({
      words: [`${counted(records, 'record')}: `, foreign(message)],
    })),
  ];
  if (items.length === 0) return null;
  return {
    id: 'notes',
    title: 'Worth knowing',
    blocks: [
      {
        kind: 'list',
        style: 'notes',
        items,
        shown: { page: 40, text: 40 },
        more: (left) => `and ${counted(left, 'more note')}`,
      },
    ],
  };
}
