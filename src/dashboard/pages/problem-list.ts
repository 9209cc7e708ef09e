import { type ConfigurationProblem, formatPlace } from '../../model/errors.ts';
import { html, type Markup } from '../../report/html/markup.ts';

/** What is wrong in the files of the workspace, each with its file, line and column. */
export function problemList(problems: readonly ConfigurationProblem[]): Markup {
  return html`<ul class="problems">${problems.map(
    ({ place, message }) => html`<li><code>${formatPlace(place)}</code> <span>${message}</span></li>`,
  )}</ul>`;
}
