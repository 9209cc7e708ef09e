import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startMailServer } from '../../support/mail-server.ts';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { startWebhook } from '../../support/webhook.ts';
import type { Answer, HttpClient } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const EDIT = '/jobs/nightly/edit';
const FILE = 'jobs/nightly.yaml';
const JOB = `# our nightly catalog
import: products
store: main
source:
  path: catalog.csv   # written by the shop at 1:00
mapping: shopify-products

safety: { maxRejects: 10%, "minRows": '80%' }   # agreed with Anna
duplicates: first
schedule:
  cron: "15 2 * * *" # after the backup
  timezone: Europe/London
# the end
`;

let nightly: Nightly;
let dashboard: ServedDashboard;
let client: HttpClient;

const read = async () => await readFile(join(nightly.workspace.dir, FILE), 'utf8');
const fieldOf = ({ document }: Answer, name: string) =>
  document.querySelector(`[name="${name}"]`)?.getAttribute('value') ??
  document.querySelector(`select[name="${name}"] option[selected]`)?.getAttribute('value');
/** A placeholder, which a test may not write into a plain text. */
const withSigns = (text: string) => text.replaceAll('@{', `$${'{'}`);
/** Sends the form with other values, and the chosen entries of its lists. */
const save = async (page: Answer, fields: Readonly<Record<string, string>>) => {
  const lists = ['place', 'schedule'].map((name) => [name, fieldOf(page, name) ?? '']);
  const boxes = [...page.document.querySelectorAll('input[type="checkbox"]:not([checked])')];
  const unticked = boxes.map((box) => [box.getAttribute('name') ?? '', '']);
  return await client.submit(page, EDIT, { ...Object.fromEntries([...lists, ...unticked]), ...fields });
};

beforeAll(async () => {
  nightly = await setupNightly(3);
  dashboard = await serveDashboard(nightly.workspace);
  client = await dashboard.signedIn('full');
});
beforeEach(async () => {
  await nightly.workspace.write(FILE, JOB);
});
afterAll(async () => {
  await nightly?.[Symbol.asyncDispose]();
});

it('changes the named keys of a job and leaves every other byte', async () => {
  const page = await client.get(EDIT);
  expect([fieldOf(page, 'location'), fieldOf(page, 'maxRejects'), fieldOf(page, 'schedule')]).toEqual([
    ...['catalog.csv', '10%', 'day'],
  ]);
  const saved = await save(page, {
    ...{ location: 'exports/*.csv', delimiter: 'semicolon', maxRejects: '25', minRows: '50%' },
    ...{ maxPriceMoves: 'off', schedule: 'weekdays', time: '4:30' },
  });
  expect(saved.words).toContain('At 04:30, Monday through Friday');
  expect(await read()).toBe(
    JOB.replace('path: catalog.csv   # written by the shop at 1:00\n', (line) =>
      line.replace('catalog.csv', '"exports/*.csv"').concat('  delimiter: semicolon\n'),
    )
      .replace('maxRejects: 10%', 'maxRejects: 25')
      .replace("'80%' }", '"50%", maxPriceMoves: off }')
      .replace('"15 2 * * *"', '"30 4 * * 1-5"'),
  );
  const { audit } = (await nightly.workspace.storeferry('runs', '--audit', '--json')).json();
  expect(audit).toEqual(
    expect.arrayContaining([expect.objectContaining({ action: 'edit', job: 'nightly', outcome: 'done' })]),
  );
  expect((await nightly.workspace.storeferry('runs', '--audit')).stdout).toContain('edited a job');
});

it('writes nothing where nothing was changed, and resumes a paused schedule as it was', async () => {
  await save(await client.get(EDIT), {});
  expect(await read()).toBe(JOB);
  await save(await client.get(EDIT), { paused: 'on' });
  expect(await read()).toBe(
    JOB.replace(/schedule:\n.*\n.*\n/, (lines) => lines.replaceAll(/^(?=.)/gm, '# paused: ')),
  );
  expect((await client.get('/jobs/nightly')).words).toContain('ScheduleNone');
  const paused = await client.get(EDIT);
  expect([fieldOf(paused, 'schedule'), fieldOf(paused, 'time')]).toEqual(['day', '02:15']);
  expect(paused.document.querySelector('#paused')?.hasAttribute('checked')).toBe(true);
  await save(paused, { paused: '' });
  expect(await read()).toBe(JOB);
});

it('shows what is wrong beside the field and writes nothing', async () => {
  const page = await client.get(EDIT);
  const wrong = async (fields: Readonly<Record<string, string>>, name: string) => {
    const refused = await save(page, fields);
    expect(refused.status).toBe(422);
    expect(await read()).toBe(JOB);
    const text = refused.document.querySelector(`#about-${name} .field-error`)?.textContent ?? '';
    return { text, page: refused };
  };
  expect((await wrong({ maxRejects: 'many' }, 'maxRejects')).text).toContain('expected a whole number');
  expect((await wrong({ headerRow: 'x' }, 'headerRow')).text).toContain('headerRow');
  expect((await wrong({ encoding: 'utf-99' }, 'encoding')).text).toContain('expected an encoding');
  expect((await wrong({ location: '' }, 'location')).text).toContain('Give the file or its address');
  expect((await wrong({ location: '../secret.csv' }, 'location')).text).toContain('source.path');
  for (const location of ['/etc/passwd', '~/list.csv', String.raw`C:\list.csv`, String.raw`\\host\list.csv`])
    expect((await wrong({ location }, 'location')).text).toContain('Give a path inside the workspace');
  for (const time of ['noon', '24:00', '06:15, 18:30', ''])
    expect((await wrong({ time }, 'time')).text).toContain('Give hours and minutes, such as 06:00');
  expect((await wrong({ timezone: 'Mars/Base' }, 'timezone')).text).toContain('time zone');
  const address = { place: 'url', location: 'https://shop.example/a.csv?token=hunter2' };
  const secret = await wrong({ ...address, maxRejects: 'many' }, 'maxRejects');
  expect(secret.page.body).not.toContain('hunter2');
});

it('takes files that arrive, of the inbox only, and asks for an approval by another', async () => {
  const page = await client.get(EDIT);
  const settings = await save(page, { place: 'watch', location: 'jobs/*.yaml' });
  expect(settings.document.querySelector('#about-location .field-error')?.textContent).toContain(
    'inbox/*.csv',
  );
  expect(await read()).toBe(JOB);
  await save(page, { place: 'watch', location: 'inbox/*.csv', 'approval.by': 'another' });
  const watching = await read();
  expect(watching).toContain('watch: "inbox/*.csv"');
  expect(watching).toMatch(/^approval:.*\n? *by: another/m);
  expect(watching).not.toMatch(/^ *path:/m);
  const edited = await client.get(EDIT);
  expect([fieldOf(edited, 'place'), fieldOf(edited, 'location')]).toEqual(['watch', 'inbox/*.csv']);
  await save(edited, { place: 'path', location: 'catalog.csv', 'approval.by': '' });
  expect(await read()).not.toMatch(/watch|approval/);
});

it('keeps the path outside the workspace that the file has', async () => {
  const outside = JOB.replace('catalog.csv', '/srv/exports/catalog.csv');
  await nightly.workspace.write(FILE, outside);
  await save(await client.get(EDIT), { maxRejects: '20%' });
  expect(await read()).toBe(outside.replace('10%', '20%'));
});

it('shows times that its fields cannot say in words, and keeps them', async () => {
  const twice = JOB.replace('15 2 * * *', '15 2 1,15 * *');
  await nightly.workspace.write(FILE, twice);
  const page = await client.get(EDIT);
  expect(fieldOf(page, 'schedule')).toBe('other');
  expect(page.words).toContain('At 02:15, on day 1 and 15 of the month');
  expect(page.document.querySelector('small code')?.textContent).toBe('15 2 1,15 * *');
  await save(page, { timezone: 'Europe/Paris' });
  expect(await read()).toBe(twice.replace('Europe/London', 'Europe/Paris'));
  await save(await client.get(EDIT), { schedule: 'week', weekday: '5', time: '6:30, 18:30' });
  expect(await read()).toContain('cron: "30 6,18 * * 5" # after the backup');
  expect((await client.get(EDIT)).words).not.toContain('cron');
});

it('pauses a schedule with the times that were typed in the same form', async () => {
  await save(await client.get(EDIT), { paused: 'on', time: '05:00' });
  expect(await read()).toContain('# paused: schedule:\n# paused:   cron: "0 5 * * *" # after the backup\n');
  await save(await client.get(EDIT), { timezone: 'Europe/Paris' });
  expect(await read()).toContain('# paused:   timezone: Europe/Paris\n# the end');
  await save(await client.get(EDIT), { paused: '', time: '06:00' });
  expect(await read()).toBe(JOB.replace('15 2 * * *', '0 6 * * *').replace('Europe/London', 'Europe/Paris'));
  const wrong = await save(await client.get(EDIT), { paused: 'on', timezone: 'Mars/Base' });
  expect(wrong.status).toBe(422);
  expect(wrong.document.querySelector('#about-timezone .field-error')?.textContent).toContain('time zone');
});

it('shows no secret that stands in an address of the file, and keeps it', async () => {
  const secrets = ['token=hunter22', 'k=9f8a7c6b5d4e3f2a1b0c', 'page=1'];
  const byHand = JOB.replace('path: catalog.csv', `url: "https://shop.example/a.csv?${secrets.join('&')}"`);
  await nightly.workspace.write(FILE, byHand);
  const page = await client.get(EDIT);
  expect(page.body).not.toMatch(/hunter22|9f8a7c6b/);
  expect(fieldOf(page, 'location')).toBe(
    'https://shop.example/a.csv?token=[secret not shown]&k=[secret not shown]&page=1',
  );
  const moved = await save(page, { location: `${fieldOf(page, 'location')}&page=2` });
  expect(moved.status).toBe(422);
  expect(moved.words).toContain('Give the whole address');
  expect(moved.body).not.toMatch(/hunter22|9f8a7c6b/);
  expect(await read()).toBe(byHand);

  const likely = byHand.replace('token=hunter22&', '');
  await nightly.workspace.write(FILE, likely);
  await save(await client.get(EDIT), { maxRejects: '50%' });
  expect(await read()).toBe(likely.replace('maxRejects: 10%', 'maxRejects: 50%'));
  const checked = await nightly.workspace.storeferry('check');
  expect(checked.stdout + checked.stderr).toContain('source.url: the value of k looks like a secret');
  expect(checked.stdout + checked.stderr).not.toContain('9f8a7c6b');
});

it('keeps placeholders of addresses as they are written, and takes others as text', async () => {
  const location = `https://shop.example/a.csv?token=\${FEED_TOKEN}`;
  const byHand = JOB.replace('path: catalog.csv', `url: "${location}"`);
  await nightly.workspace.write(FILE, byHand);
  await save(await client.get(EDIT), { location: location.replace('a.csv', 'b.csv') });
  expect(await read()).toBe(byHand.replace('a.csv', 'b.csv'));
  await save(await client.get(EDIT), { location: `${location}&more=\${OTHER_TOKEN}` });
  expect(await read()).toBe(byHand.replace(location, (text) => `${text}&more=$\${OTHER_TOKEN}`));
  expect(fieldOf(await client.get(EDIT), 'location')).toBe(`${location}&more=$\${OTHER_TOKEN}`);
});

it('overwrites nothing that was written by hand meanwhile', async () => {
  const page = await client.get(EDIT);
  const byHand = JOB.replace('maxRejects: 10%', 'maxRejects: 1%').replace('catalog.csv', 'other.csv');
  await nightly.workspace.write(FILE, byHand);
  const asked = await save(page, { maxRejects: '50%', minRows: 'off' });
  expect(asked.status).toBe(409);
  expect(await read()).toBe(byHand);
  expect(asked.words).toContain('was changed after this form was shown');
  expect(asked.document.querySelector('pre.file')?.textContent).toContain('other.csv');
  expect(['location', 'maxRejects', 'minRows'].map((name) => fieldOf(asked, name))).toEqual([
    ...['other.csv', '50%', 'off'],
  ]);
  expect(asked.document.querySelector('#about-maxRejects')?.textContent).toContain('The file now has: 1%');
  expect((await save(asked, {})).status).toBe(200);
  expect(await read()).toBe(byHand.replace('1%', '50%').replace("'80%'", '"off"'));
});

it('names the errors of a file that is no YAML, and edits the schedule of an export', async () => {
  await nightly.workspace.write(FILE, 'import: [\n');
  const broken = await client.get(EDIT);
  expect([broken.status, broken.document.querySelector('form.draft')]).toEqual([422, null]);
  expect(broken.words).toContain('jobs/nightly.yaml:');
  const text = 'export: orders\nstore: main\ndestination: { path: out.csv }\n';
  await nightly.workspace.write(FILE, text);
  await save(await client.get(EDIT), { schedule: 'often', timezone: 'UTC' });
  expect(await read()).toBe(`${text}schedule: { cron: "0 * * * *", timezone: UTC }\n`);
  expect((await client.get('/jobs/nowhere/edit')).status).toBe(404);
});

it('changes the mode, guards, waves and notifications, and removes what then no longer applies', async () => {
  await nightly.workspace.write(FILE, JOB);
  const lists = { mode: 'update', match: 'url', 'guards.0.action': 'hold', 'guards.1.action': 'hold' };
  const changed = {
    ...{ ...lists, 'guards.0.field': 'variants.price', 'guards.0.changeBy': '50%' },
    ...{ 'apply.waves': '10, 1%, 100%', 'apply.maxUnsent': '2' },
    ...{ 'notify.0.kind': 'url', 'notify.0.address': 'https://ops.example/hook', 'notify.0.when': 'always' },
    ...{ 'notify.0.on.stopped': '', 'notify.0.on.rejects': '', 'notify.0.on.done': 'on' },
  };
  await save(await client.get(EDIT), changed);
  expect(await read()).toBe(
    JOB.replace(
      '# the end\n',
      [
        'mode: update\napply: { waves: [10, "1%", "100%"], maxUnsent: 2 }',
        'notify: { url: "https://ops.example/hook", on: [failed, done] }',
        'guards: [{ field: variants.price, changeBy: "50%", action: hold }]\n# the end\n',
      ].join('\n'),
    ),
  );
  const page = await client.get(EDIT);
  expect(fieldOf(page, 'guards.0.changeBy')).toBe('50%');
  const refused = await save(page, { ...lists, 'guards.1.field': 'title', 'guards.1.above': '3' });
  expect(refused.document.querySelector('[id="about-guards.1.above"]')?.textContent).toContain(
    'not a number',
  );
  const off = { mode: 'upsert', 'guards.0.field': '', 'apply.waves': '', 'notify.0.kind': '' };
  await save(await client.get(EDIT), off);
  expect(await read()).toBe(JOB.replace('# the end\n', 'mode: upsert\n# the end\n'));
});

it('has several recipients, e-mail among them, each tested, with the mail server in .env alone', async () => {
  await using mail = await startMailServer();
  await using hook = await startWebhook({ status: 200 }, { status: 404 });
  const text = withSigns(`${JOB}notify: { slack: "@{SLACK}", on: [failed] } # ops\n`);
  await nightly.workspace.write(FILE, text);
  await nightly.workspace.write('.env', `SLACK=${hook.url}\n`);
  const choices = { 'notify.0.kind': 'slack', 'notify.0.when': 'always', 'notify.1.when': 'always' };
  const email = {
    ...{ ...choices, 'notify.1.kind': 'email', 'notify.1.address': 'anna@shop.example, ops@shop.example' },
    ...{ 'notify.1.from': 'shop@shop.example', 'notify.1.on.held': 'on' },
  };
  const unknown = await save(await client.get(EDIT), email);
  expect(unknown.words).toContain('Give the mail server: none is known yet.');
  expect(await read()).toBe(text);

  const server = {
    'notify.1.mailServer': mail.url,
    'notify.1.mailUser': 'a@b',
    'notify.1.mailPassword': 'MARKED:/pass',
  };
  const tested = await save(await client.get(EDIT), { ...email, ...server, do: 'test' });
  expect(tested.words).toMatch(/sent a test\. 127\.0\.0\.1:\d+: it has arrived\. 127/);
  expect(await read()).toBe(
    text
      .replace(
        withSigns('{ slack: "@{SLACK}", on: [failed] }'),
        withSigns(
          '[{ slack: "@{SLACK}", on: [failed] }, { email: [ anna@shop.example, ops@shop.example ], from: shop@shop.example, on: [ failed, stopped, rejects, held ], server: "@{SMTP_URL}" }]',
        ),
      )
      .replaceAll('[ ', '[')
      .replaceAll(' ]', ']'),
  );
  expect(await readFile(join(nightly.workspace.dir, '.env'), 'utf8')).toContain('MARKED%3A%2Fpass@');
  expect(tested.body).not.toContain('MARKED');
  expect(hook.calls.map(({ body }) => body['text'])).toEqual([expect.stringContaining('this is a test')]);

  // Another address for one, the other removed: the list stays, and so does the placeholder.
  const page = await client.get(EDIT);
  expect(fieldOf(page, 'notify.1.address')).toBe('anna@shop.example, ops@shop.example');
  const both = { ...choices, 'notify.1.kind': 'email', 'notify.2.when': 'always' };
  await save(page, { ...both, 'notify.0.when': 'change', 'notify.1.address': 'anna@shop.example' });
  expect(await read()).toContain(
    withSigns('[{ slack: "@{SLACK}", on: [failed], when: change }, { email: [anna@shop.example]'),
  );
  const again = await save(await client.get(EDIT), {
    ...both,
    'notify.0.when': 'change',
    'notify.1.kind': '',
    do: 'test',
  });
  expect(again.words).toContain('it answered 404');
  expect(await read()).toContain(
    withSigns('notify: [{ slack: "@{SLACK}", on: [failed], when: change }] # ops\n'),
  );
  await save(await client.get(EDIT), { 'notify.0.kind': '', 'notify.1.when': 'always' });
  expect(await read()).toBe(JOB);
});

it('changes what the format leaves to the job, by its description', async () => {
  const page = await client.get(EDIT);
  const label = page.document.querySelector('label[for="params.decimal"]')?.textContent;
  expect(label).toMatch(/^The decimal sign of prices and weights/);
  await save(page, { 'params.decimal': ',' });
  expect(await read()).toContain('params: { decimal: "," }\n');
  await save(await client.get(EDIT), { 'params.decimal': '' });
  expect(await read()).toBe(JOB);
});

it('publishes pictures from a folder of the workspace', async () => {
  const pictures = {
    'images.publish.from': '/etc',
    'images.publish.address': 'https://images.example/shop/',
  };
  const outside = await save(await client.get(EDIT), { ...pictures, 'images.publish.path': 'public' });
  expect(outside.document.querySelector('[id="about-images.publish.from"]')?.textContent).toContain(
    'Give a path inside the workspace',
  );
  const inside = { ...pictures, 'images.publish.from': 'photos.zip' };
  expect((await save(await client.get(EDIT), inside)).words).toContain('give one of path, s3 and sftp');
  const secret = await save(await client.get(EDIT), {
    ...inside,
    'images.publish.address': 'https://shop:hidden-word@images.example/',
    'images.publish.path': 'https://shop:hidden-word@images.example/',
  });
  expect(secret.words).toContain('without user and password');
  expect(secret.words).toContain('expected a path, not an address');
  expect(secret.body).not.toContain('hidden-word');
  await save(await client.get(EDIT), { ...inside, 'images.publish.s3': 's3://bucket/shop' });
  expect(await read()).toContain(
    'images: { publish: { from: photos.zip, address: "https://images.example/shop/", s3: "s3://bucket/shop" } }\n',
  );
  await save(await client.get(EDIT), { 'images.publish.from': '' });
  expect(await read()).toBe(JOB);
});

it('changes an export, whose file stays in its folder', async () => {
  const text = 'export: orders\nstore: main\ndestination: { path: exports/out.csv }\n';
  await nightly.workspace.write(FILE, text);
  for (const location of ['stores.yaml', '.env', 'exports/../stores.yaml', '/tmp/out.csv', 'exports/.x/a']) {
    const refused = await save(await client.get(EDIT), { location });
    expect([refused.status, await read()]).toEqual([422, text]);
  }
  const fields = { location: 'exports/all.xlsx', 'destination.format': 'xlsx', columns: 'id, total' };
  await save(await client.get(EDIT), fields);
  expect(await read()).toBe(
    'export: orders\nstore: main\ndestination: { path: exports/all.xlsx, format: xlsx }\ncolumns: [id, total]\n',
  );
});

it('is for visitors with full access', async () => {
  const looking = await dashboard.signedIn('readOnly');
  expect((await looking.get(EDIT)).status).toBe(403);
  expect((await looking.get('/jobs/nightly')).document.querySelector(`a[href="${EDIT}"]`)).toBeNull();
  const page = await client.get(EDIT);
  const stolen = { sha256: fieldOf(page, 'sha256') ?? '', location: 'other.csv' };
  expect((await looking.post(EDIT, stolen)).status).toBe(403);
  expect((await client.post(EDIT, stolen)).status).toBe(403);
  expect(await read()).toBe(JOB);
});
