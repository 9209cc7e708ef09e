import { expect, it } from 'vitest';
import { setupCrm } from '../../support/contacts.ts';
import { formOf, multipart } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

it('a contact is forgotten from its page, after a confirmation, by those with full access only', async () => {
  await using crm = await setupCrm({
    rows: [
      { number: 1, phone: '1', city: 'Leeds' },
      { number: 2, phone: '2', city: 'Bergen' },
    ],
  });
  expect((await crm.workspace.storeferry('run', 'crm')).code).toBe(0);
  const dashboard = await serveDashboard(crm.workspace);
  const client = await dashboard.signedIn('full');
  const record = '/records?store=main&resource=contacts&key=1001';
  const before = await client.get(record);
  expect(before.words).toContain('Leeds');
  const address =
    before.document.querySelector('a[href^="/records/forget"]')?.getAttribute('href') ?? 'no button';
  const asked = await client.get(address);
  expect(asked.words).toMatch(/Forget contact 1001\?.*cannot be undone/);
  expect((await client.get(record)).words).toContain('Leeds');
  expect((await (await dashboard.signedIn('readOnly')).get(address)).status).toBe(403);

  const { fields } = formOf(await client.get('/new'), '/new/upload');
  const form = multipart(fields, { name: 'people.csv', content: Buffer.from('Email\na@mail.example\n') });
  const { headers } = await client.post('/new/upload', form.body, { 'content-type': form.type });
  const draft = String(headers.location);
  expect((await client.get(draft)).words).toContain('people.csv');

  const forgotten = await client.submit(asked, '/records/forget');
  expect(forgotten.words).toMatch(/Contact 1001 is forgotten.*1 version of its history/);
  expect((await client.get(record)).words).not.toContain('Leeds');
  expect((await client.get(draft)).words).not.toContain('people.csv');
  expect((await client.get('/records?store=main&resource=contacts&key=1002')).words).toContain('Bergen');
  expect((await client.get('/audit')).words).toContain('forgot a contact');
  const product = await client.get('/records/forget?store=main&key=nobody');
  expect(product.status).toBe(404);
});
