import { aboutSection } from './about-section.ts';
import { exportSection } from './export-section.ts';
import { fieldsSection } from './fields-section.ts';
import { headlineSection } from './headline-section.ts';
import { listsSection } from './lists-section.ts';
import { html, type Markup } from './markup.ts';
import { movesSection } from './moves-section.ts';
import { nextSection } from './next-section.ts';
import { notesSection } from './notes-section.ts';
import { rejectionsSection, skipsSection, unsentSection } from './reasons-section.ts';
import { recordsSection } from './records-section.ts';
import type { ReportFacts } from './report-facts.ts';
import { safetySection } from './safety-section.ts';
import { sourceSection } from './source-section.ts';
import { trafficSection } from './traffic-section.ts';

/**
 * The report of a run without the document around it, the most important first. Headings begin with h2, so that a page
 * gives the h1; the dashboard shows the same.
 */
export async function reportSections(facts: ReportFacts): Promise<Markup> {
  return html`<div class="report">
${[
  headlineSection(facts),
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
