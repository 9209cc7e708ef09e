import { nextSteps } from '../next-steps.ts';
import { summaryText } from '../summary-text.ts';
import { html, type Markup } from './markup.ts';
import type { ReportFacts } from './report-facts.ts';

/**
 * The report of a run without the document around it: headings begin with h2, so that a page gives the h1. The
 * dashboard shows the same.
 */
export async function reportSections(facts: ReportFacts): Promise<Markup> {
  const { run, plan, now, program } = facts;
  const steps = nextSteps(run, plan, program);
  return html`<section><h2>Summary</h2><pre>${summaryText(facts, { colors: false, width: 100, now, program })}</pre></section>
${steps.map(({ what, command }) => html`<p>${what}</p><pre><code>${command}</code></pre>`)}`;
}
