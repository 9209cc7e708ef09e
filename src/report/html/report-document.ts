import { html, trusted } from './markup.ts';
import type { ReportFacts } from './report-facts.ts';
import { reportSections } from './report-page.ts';
import { readStylesheet } from './stylesheet.ts';

/** The report of a run as one whole HTML file: no script, no network; it can be opened, printed and mailed. */
export async function reportDocument(facts: ReportFacts): Promise<string> {
  const { run } = facts;
  const title = `${run.job}: run ${run.id}`;
  const body = await reportSections(facts);
  return `<!doctype html>\n${html`<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${trusted(readStylesheet())}</style>
</head>
<body>
<main class="report">
<h1>${title}</h1>
${body}
</main>
</body>
</html>`}\n`;
}
