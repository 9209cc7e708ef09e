import { printable } from '../wording/printable.ts';
import { html, trusted } from './markup.ts';
import type { ReportFacts } from './report-facts.ts';
import { reportSections } from './report-page.ts';
import { readStylesheet } from './stylesheet.ts';
import { foreign } from './text.ts';

/** Nothing of the file may load or run anything, whatever found its way into it. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** The report of a run as one whole HTML file: no script, no network; it can be opened, printed and mailed. */
export async function reportDocument(facts: ReportFacts): Promise<string> {
  const { run } = facts;
  const what = titleWords(facts);
  const sections = await reportSections(facts);
  return `<!doctype html>\n${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${what} ${printable(run.job)} · ${run.id}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${trusted(readStylesheet())}</style>
</head>
<body class="report-file">
<header class="report-head">
<p class="eyebrow">Storeferry</p>
<h1>${what} ${foreign(run.job)}</h1>
<p class="where">for the store <strong>${foreign(run.store)}</strong></p>
</header>
<main>
${sections}
</main>
<footer class="report-foot"><p>Run ${run.id} of ${foreign(run.job)}, written by Storeferry ${facts.version}.</p></footer>
</body>
</html>`}\n`;
}

function titleWords({ run }: ReportFacts): string {
  switch (run.kind) {
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
      return run.kind satisfies never;
  }
}
