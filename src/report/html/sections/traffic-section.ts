import { limitsWords } from '../../limits-words.ts';
import { trafficPlots } from '../../plots/traffic-plots.ts';
import { trafficWords } from '../../traffic-words.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';

/** What went over the wire and how the store answered; null where nothing did. */
export async function trafficSection(facts: ReportFacts): Promise<Markup | null> {
  const samples = facts.traffic?.samples ?? [];
  if (samples.length === 0) return null;
  const sentences = [...trafficWords(samples), limitsWords(facts)].filter((words) => words !== null);
  const plots = await trafficPlots(samples);
  return section(
    'traffic',
    plots === null ? 'Requests' : 'Requests over time',
    html`<p>${sentences.join(' ')}</p>
${plots}`,
  );
}
