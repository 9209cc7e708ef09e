import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { crosswalkOf, setupCrm } from '../support/contacts.ts';
import { startWebhook } from '../support/webhook.ts';

// What leaves this machine, or is seen with the read-only token, names no person of a contact file.

const PEOPLE =
  'hana@mail.example,Hana,0123 456789,Kutná Hora,vip,no\nkowalczuk@mail.example,Kowalczuk,,,,no\n';
const NAMES = /hana|kowalczuk|kutn|0123|vip|4711/i;

it.each([
  ['a file without headers', { 'crm.csv': PEOPLE }, /Headers found: 6, which are not named here/],
  [
    'a file with some of the headers',
    { 'crm.csv': `First Name,Hana,City,Kowalczuk\na,b,c,d\n` },
    /Headers found: 'First Name', 'City', and 2 more\./,
  ],
  [
    'a header that is near a name',
    { 'crm.csv': `Vmail,Hana\nEmial,b\n` },
    /lacks the required column email: expected the header [^;]*\. Headers found: 2, which/,
  ],
  [
    'a crosswalk without headers',
    { 'ids.csv': '4711,hana@mail.example\n4712,kowalczuk@mail.example\n' },
    /no column 'email'; columns found: 2, which are not named here/,
  ],
  [
    'a file in another charset',
    { 'crm.csv': Buffer.from(`Email,First Name,City\nx@mail.example,Kutn\u00e1,a\n`, 'latin1') },
    /is not in UTF-8: .*It is likely one of: windows-1252, /,
  ],
])('%s', async (_, files, problem) => {
  await using webhook = await startWebhook();
  await using crm = await setupCrm({
    rows: [{ number: 1 }],
    job: { notify: `{ url: "\${HOOK}", on: [failed] }` },
    env: { HOOK: webhook.url },
  });
  const { workspace } = crm;
  for (const [name, content] of Object.entries({ 'ids.csv': crosswalkOf([1]), ...files })) {
    await writeFile(join(workspace.dir, name), content);
  }
  const run = await workspace.storeferry('run', 'crm', '--json');
  expect(run.code).not.toBe(0);
  const shown = await workspace.storeferry('runs', '--json');
  const pages = globSync('**/report.{html,json}', { cwd: join(workspace.dir, '.storeferry') });
  const kept = await Promise.all(
    pages.map((page) => readFile(join(workspace.dir, '.storeferry', page), 'utf8')),
  );
  const hooks = webhook.calls.map(({ body }) => JSON.stringify(body));
  expect(hooks).toHaveLength(1);
  expect(hooks[0]).toMatch(problem);
  expect(pages).not.toEqual([]);
  // The name of the folder is random, and may have letters of theirs.
  for (const text of [...hooks, ...kept, shown.stdout])
    expect(text.replaceAll(workspace.dir, 'WORKSPACE')).not.toMatch(NAMES);
});
