import { html, type Markup } from './markup.ts';
import type { ReportFacts } from './report-facts.ts';
import { aboutSection } from './sections/about-section.ts';
import { exportSection } from './sections/export-section.ts';
import { fieldsSection } from './sections/fields-section.ts';
import { headlineSection } from './sections/headline-section.ts';
import { listsSection } from './sections/lists-section.ts';
import { movesSection } from './sections/moves-section.ts';
import { nextSection } from './sections/next-section.ts';
import { notesSection } from './sections/notes-section.ts';
import { rejectionsSection, skipsSection, unsentSection } from './sections/reasons-section.ts';
import { recordsSection } from './sections/records-section.ts';
import { safetySection } from './sections/safety-section.ts';
import { sourceSection } from './sections/source-section.ts';
import { trafficSection } from './sections/traffic-section.ts';

/**
 * The report of a run without the document around it, the most important first. Headings begin with h2, so that a page
 * gives the h1; the dashboard shows the same.
 */
export async function reportSections(facts: ReportFacts): Promise<Markup> {
  return html`<div class="report">
${[
  !isShownLive(facts) && headlineSection(facts),
  nextSection(facts),
  exportSection(facts),
  await listsSection(facts),
  recordsSection(facts),
  safetySection(facts),
  movesSection(facts),
  fieldsSection(facts),
  rejectionsSection(facts),
  unsentSection(facts),
  skipsSection(facts),
  notesSection(facts),
  await trafficSection(facts),
  sourceSection(facts),
  aboutSection(facts),
]}</div>`;
}

/** The dashboard shows above the report how far a run under way is: its headline would be as old as the page. */
function isShownLive({ run, actions }: ReportFacts): boolean {
  return run.status === 'running' && run.error === null && actions !== undefined;
}
