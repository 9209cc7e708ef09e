import { parseHTML } from 'linkedom';
import { parse } from 'parse5';

/** What is wrong with a page that browsers would forgive, or that only some of its readers would notice. */
export function htmlFindings(text: string): string[] {
  const findings: string[] = [];
  parse(text, {
    sourceCodeLocationInfo: true,
    onParseError: ({ code, startLine, startCol }) => findings.push(`${startLine}:${startCol} ${code}`),
  });
  const { document } = parseHTML(text);
  const all = [...document.querySelectorAll('*')];
  const ids = all.flatMap((element) => (element.id === '' ? [] : [element.id]));
  for (const id of new Set(ids)) {
    if (ids.filter((other) => other === id).length > 1) findings.push(`the id ${id} is given twice`);
  }
  for (const element of all) {
    for (const name of element.getAttributeNames()) {
      if (name === 'style' || name.startsWith('on')) findings.push(`the policy forbids ${name}`);
    }
    for (const name of ['aria-labelledby', 'aria-describedby', 'for']) {
      for (const id of element.getAttribute(name)?.split(/\s+/) ?? []) {
        if (!ids.includes(id)) findings.push(`${name} names ${id}, which is not there`);
      }
    }
  }
  for (const script of document.querySelectorAll('script')) {
    if (script.getAttribute('src') === null) findings.push('the policy forbids inline scripts');
  }
  if (document.querySelector('style') !== null) findings.push('the policy forbids style elements');
  for (const control of document.querySelectorAll('select, textarea, input:not([type="hidden"])')) {
    if (document.querySelector(`label[for="${control.id}"]`) === null)
      findings.push(`${control.outerHTML} has no label`);
  }
  for (const table of document.querySelectorAll('table')) {
    if (table.querySelector('caption') === null) findings.push('a table has no caption');
  }
  for (const form of document.querySelectorAll('form[method="post"]')) {
    if (form.querySelector('input[name="csrfToken"]') === null) findings.push('a form has no token');
  }
  return [...findings, ...headingFindings(document)];
}

/** One h1, first; no level left out on the way down. */
function headingFindings(document: ReturnType<typeof parseHTML>['document']): string[] {
  const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(({ localName }) =>
    Number(localName.slice(1)),
  );
  const findings = levels.filter((level) => level === 1).length === 1 ? [] : ['there is not one h1'];
  for (const [index, level] of levels.entries()) {
    if (level > (levels[index - 1] ?? 0) + 1) findings.push(`heading ${index + 1} is an h${level} too deep`);
  }
  return findings;
}
