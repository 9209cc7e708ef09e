import { lastedMs, type RunStatus } from '../model/run.ts';
import type { RunFacts, View } from './run-facts.ts';
import type { Section } from './section.ts';
import { aboutSection } from './sections/about-section.ts';
import { exportedSection } from './sections/exported-section.ts';
import { fieldsSection } from './sections/fields-section.ts';
import { heldSection } from './sections/held-section.ts';
import { imagesSection } from './sections/images-section.ts';
import { leadSection } from './sections/lead-section.ts';
import { listsSection } from './sections/lists-section.ts';
import { nextSection } from './sections/next-section.ts';
import { notesSection } from './sections/notes-section.ts';
import { pricesSection, stockSection } from './sections/prices-section.ts';
import { recordsSection } from './sections/records-section.ts';
import { rejectedSection, skippedSection, unsentSection } from './sections/rejected-section.ts';
import { safetySection } from './sections/safety-section.ts';
import { sourceSection } from './sections/source-section.ts';
import { trafficSection } from './sections/traffic-section.ts';
import { undoSection } from './sections/undo-section.ts';
import { verificationSection } from './sections/verification-section.ts';
import { wavesSection } from './sections/waves-section.ts';
import { figuresWords, statusWords } from './status-words.ts';

/** The subject of a document, for its title. */
export interface DocumentHead {
  /** The words before the name of the job, such as `Plan of`. */
  readonly what: string;
  readonly job: string;
  readonly store: string;
  readonly run: string;
  readonly kind: RunFacts['run']['kind'];
  readonly status: RunStatus;
  /** How it ended, as the beginning of a sentence that continues with a duration. */
  readonly outcome: string;
  /** When the run ended; for a running run, when the document was made. */
  readonly at: number;
  readonly lastedMs: number;
  /** Its figures in a few words; empty if nothing is known. */
  readonly totals: string;
  /** The version of Storeferry. */
  readonly version: string;
}

/** Everything that is shown about a run. Terminal, report file, dashboard and notifications render this document. */
export interface RunDocument {
  readonly head: DocumentHead;
  /** The most important section first. */
  readonly sections: readonly Section[];
}

/**
 * In the order of a page. A section without content returns null. To add a section, add a file to `sections/` and an
 * entry here.
 */
const SECTIONS: readonly ((facts: RunFacts, view: View) => Section | null)[] = [
  leadSection,
  nextSection,
  exportedSection,
  listsSection,
  recordsSection,
  undoSection,
  verificationSection,
  wavesSection,
  safetySection,
  heldSection,
  pricesSection,
  stockSection,
  fieldsSection,
  rejectedSection,
  unsentSection,
  skippedSection,
  imagesSection,
  notesSection,
  trafficSection,
  sourceSection,
  aboutSection,
];

/** The document of a run. */
export function runDocument(facts: RunFacts, view: View): RunDocument {
  const { run } = facts;
  const { id, job, store, kind, status, undo } = run;
  return {
    head: {
      ...{ job, store, run: id, kind, status, version: view.version },
      what: SUBJECTS[undo === undefined ? kind : 'undo'],
      outcome: statusWords(status, facts.totals),
      at: run.finishedAt ?? view.now,
      lastedMs: lastedMs(run, view.now),
      totals: figuresWords(run),
    },
    sections: SECTIONS.map((section) => section(facts, view)).filter((section) => section !== null),
  };
}

/** The words before the name of the job. */
const SUBJECTS: Readonly<Record<DocumentHead['kind'], string>> = {
  plan: 'Plan of',
  run: 'Run of',
  retry: 'Retry of',
  export: 'Export by',
  verify: 'Verification of',
  undo: 'Undo of a run of',
  release: 'Release of held records of',
};
