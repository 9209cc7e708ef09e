import { lastedMs, type RunStatus } from '../model/run.ts';
import type { Section } from './document.ts';
import type { RunFacts, View } from './run-facts.ts';
import { about } from './sections/about.ts';
import { exported } from './sections/export.ts';
import { fields } from './sections/fields.ts';
import { lead } from './sections/lead.ts';
import { lists } from './sections/lists.ts';
import { prices, stock } from './sections/moves.ts';
import { next } from './sections/next.ts';
import { notes } from './sections/notes.ts';
import { rejected, skipped, unsent } from './sections/reasons.ts';
import { records } from './sections/records.ts';
import { safety } from './sections/safety.ts';
import { source } from './sections/source.ts';
import { traffic } from './sections/traffic.ts';
import { verification } from './sections/verification.ts';
import { totalsWords } from './wording/totals-words.ts';

/** What a document is about, for its title. */
export interface DocumentHead {
  /** Before the name of the job, as `Plan of`. */
  readonly what: string;
  readonly job: string;
  readonly store: string;
  readonly run: string;
  readonly kind: RunFacts['run']['kind'];
  readonly status: RunStatus;
  /** When it ended; of a run under way, when the document was made. */
  readonly at: number;
  readonly lastedMs: number;
  /** Its figures in a few words; empty where nothing is known. */
  readonly totals: string;
  /** Of Storeferry. */
  readonly version: string;
}

/** All that is shown of a run. Terminal, report file, dashboard and notifications are renderers of it. */
export interface RunDocument {
  readonly head: DocumentHead;
  /** The most important first. */
  readonly sections: readonly Section[];
}

/** In the order of a page; a section without content gives null. To add one: a file in `sections/`, and a line here. */
const SECTIONS: readonly ((facts: RunFacts, view: View) => Section | null)[] = [
  lead,
  next,
  exported,
  lists,
  records,
  verification,
  safety,
  prices,
  stock,
  fields,
  rejected,
  unsent,
  skipped,
  notes,
  traffic,
  source,
  about,
];

/** The document of a run. */
export function runDocument(facts: RunFacts, view: View): RunDocument {
  const { run } = facts;
  const { id, job, store, kind, status } = run;
  return {
    head: {
      ...{ what: whatOf(kind), job, store, run: id, kind, status, version: view.version },
      at: run.finishedAt ?? view.now,
      lastedMs: lastedMs(run, view.now),
      totals: figuresOf(run),
    },
    sections: SECTIONS.map((section) => section(facts, view)).filter((section) => section !== null),
  };
}

/** Without the error, which the document names by itself. */
function figuresOf(run: RunFacts['run']): string {
  return run.error !== null && run.totals?.records === 0 ? '' : totalsWords({ ...run, error: null });
}

function whatOf(kind: DocumentHead['kind']): string {
  switch (kind) {
    case 'plan':
      return 'Plan of';
    case 'run':
      return 'Run of';
    case 'retry':
      return 'Retry of';
    case 'export':
      return 'Export by';
    case 'verify':
      return 'Verification of';
    default:
      return kind satisfies never;
  }
}
