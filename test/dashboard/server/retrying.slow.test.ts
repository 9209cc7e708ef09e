import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeZip } from '../../source/make-zip.ts';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { delay, errorAnswer } from '../../support/store/faults.ts';
import { makeXlsx } from '../../tables/workbooks.ts';
import { endOf } from './end-of.ts';
import { type Answer, formOf, type HttpClient, multipart } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const GOODS = `import: products
columns: { handle: Handle, title: Title, price: Variant Price }
group: { by: handle, rows: adjacent }
product: { url: handle, title: title }
variants:
  pricing: { price: [price, number] }
`;

interface Rejected extends AsyncDisposable {
  readonly nightly: Nightly;
  readonly dashboard: ServedDashboard;
  readonly client: HttpClient;
  readonly run: string;
  /** The rejects as they are downloaded, with the mark that text begins with. */
  readonly rejects: string;
}

/** A run two of whose products the store has refused. */
async function setup(): Promise<Rejected> {
  const nightly = await setupNightly(20, { safety: '{ maxRejects: off }' });
  const { store, workspace } = nightly;
  store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-3', 'product-7'] });
  const { run } = (await workspace.storeferry('run', 'nightly', '--json')).json();
  store.behave();
  store.forget();
  const dashboard = await serveDashboard(workspace);
  const client = await dashboard.signedIn('full');
  const { body } = await client.get(`/runs/${run}/rejects.csv`);
  const rejects = `\ufeff${body}`;
  return {
    ...{ nightly, dashboard, client, run: String(run), rejects },
    [Symbol.asyncDispose]: () => nightly[Symbol.asyncDispose](),
  };
}

async function upload(
  { client, run }: Pick<Rejected, 'client' | 'run'>,
  content: string | Buffer,
  name = 'corrected.csv',
): Promise<Answer> {
  const { action, fields } = formOf(await client.get(`/runs/${run}/retry`), `/runs/${run}/retry/upload`);
  const { body, type } = multipart(fields, { name, content });
  return await client.follow(await client.post(action, body, { 'content-type': type }));
}

describe('the rejects of a run', () => {
  it('are downloaded, corrected, uploaded, looked at and sent', async () => {
    await using scene = await setup();
    const { nightly, client, run, rejects } = scene;
    const { headers } = await client.get(`/runs/${run}/rejects.csv`);
    expect(headers['content-disposition']).toBe(`attachment; filename="nightly-${run}-rejects.csv"`);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(rejects).toContain('storeferry_reason');

    const shown = await upload(scene, rejects.replace('Product 3', 'A <b>better</b> name'));
    expect(shown.status).toBe(200);
    expect(shown.words).toContain('1 cell edited in 1 of 2 rows');
    expect(shown.words).toContain('A <b>better</b> name');
    expect(shown.words).toContain(`to the store main (${nightly.store.baseUrl})`);
    expect(nightly.store.requests).toHaveLength(0);

    const begun = await client.submit(shown, `/runs/${run}/retry`);
    const [retry = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    expect(retry).not.toBe(run);
    await endOf(client, `/runs/${retry}`);
    expect(nightly.store.requests).toHaveLength(2);
    expect(nightly.store.lastBody('product-3')).toContain('A <b>better</b> name');
    // The same confirmation again sends nothing more.
    const again = await client.submit(shown, `/runs/${run}/retry`);
    expect(again.words).toContain(retry);
    expect(nightly.store.requests).toHaveLength(2);
  });

  it('keep what was edited in the folder itself before', async () => {
    await using scene = await setup();
    const { nightly, client, run, rejects } = scene;
    const folder = join(nightly.workspace.dir, '.storeferry', 'artifacts', run);
    const edited = rejects.replace('Product 7', 'Edited here');
    await nightly.workspace.write(`.storeferry/artifacts/${run}/rejects.csv`, edited);
    const asked = await client.get(`/runs/${run}/retry`);
    expect(asked.words).toContain('was corrected there: 1 cell edited in 1 of 2 rows');
    expect((await client.get(`/runs/${run}/retry?upload=in-folder`)).words).toContain('Edited here');

    const shown = await upload(scene, rejects.replace('Product 3', 'Uploaded'));
    expect(await readFile(join(folder, 'rejects.csv'), 'utf8')).toBe(edited);
    await client.submit(shown, `/runs/${run}/retry`);
    expect(await readFile(join(folder, 'rejects.csv'), 'utf8')).toContain('Uploaded');
    expect(await readFile(join(folder, 'rejects-before-1.csv'), 'utf8')).toBe(edited);
  });

  it('are not replaced while others of the job are being sent', async () => {
    await using scene = await setup();
    const { nightly, client, run, rejects } = scene;
    const file = join(nightly.workspace.dir, '.storeferry', 'artifacts', run, 'rejects.csv');
    const first = await upload(scene, rejects.replace('Product 3', 'The first'));
    const second = await upload(scene, rejects.replace('Product 3', 'The second'));
    nightly.store.misbehave({ does: delay(60_000) });
    const begun = await client.submit(first, `/runs/${run}/retry`);
    const [retry = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    expect((await client.submit(second, `/runs/${run}/retry`)).words).toContain(`Run ${retry}`);
    expect(await readFile(file, 'utf8')).toContain('The first');
    nightly.store.behave();
    await endOf(client, `/runs/${retry}`);
    expect(nightly.store.lastBody('product-3')).toContain('The first');
  });

  it('are for those who may act: they hold the rows of the source', async () => {
    await using scene = await setup();
    const looking = await scene.dashboard.signedIn('readOnly');
    expect((await looking.get(`/runs/${scene.run}/rejects.csv`)).status).toBe(403);
    const page = await looking.get(`/runs/${scene.run}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain('rejects.csv"');
    expect((await looking.get(`/runs/${scene.run}/report.html`)).status).toBe(200);
  });

  const wrong: Readonly<Record<string, readonly [content: string | Buffer, words: string]>> = {
    'another file': ['a,b\n1,2\n', 'not a rejects file of this run'],
    'an export of the same columns': [shopifyCatalog(manyProducts(2, 90)), 'not a rejects file of this run'],
    'a spreadsheet': [Buffer.from('504b0304140006000800000021', 'hex'), 'uploaded.csv'],
    'a zip of a text': [makeZip([{ name: 'a.txt', content: 'a,b\n1,2\n' }]), 'not a workbook'],
    'an empty file': ['', 'uploaded.csv'],
    'an open quote': ['Handle,Title,storeferry_line\n"product-3,x,1\n', 'uploaded.csv'],
  };

  it('are not replaced by what is something else: it is said what is wrong', async () => {
    await using scene = await setup();
    const folder = join(scene.nightly.workspace.dir, '.storeferry', 'artifacts', scene.run);
    for (const [what, [content, words]] of Object.entries(wrong)) {
      const answer = await upload(scene, content, 'uploaded.csv');
      expect(answer.status, what).toBe(422);
      expect(answer.words, what).toContain(words);
      expect(await readFile(join(folder, 'rejects.csv'), 'utf8')).toBe(scene.rejects);
    }
    expect((await readdir(folder)).filter((name) => name.startsWith('rejects-before'))).toEqual([]);
    expect(scene.nightly.store.requests).toHaveLength(0);
  });

  it('take no file that is too large, that comes with a wrong token, or from who may only look', async () => {
    await using scene = await setup();
    const { client, dashboard, run, rejects } = scene;
    const { action, fields } = formOf(await client.get(`/runs/${run}/retry`), `/runs/${run}/retry/upload`);
    const send = (as: HttpClient, given: Record<string, string>, content: string | Buffer) => {
      const { body, type } = multipart(given, { name: 'x.csv', content });
      return as.post(action, body, { 'content-type': type }).catch((error: Error) => error);
    };
    expect(await send(client, {}, rejects)).toMatchObject({ status: 403 });
    expect(await send(client, { csrfToken: 'x' }, rejects)).toMatchObject({ status: 403 });
    expect(await send(await dashboard.signedIn('readOnly'), { ...fields }, rejects)).toMatchObject({
      status: 403,
    });
    expect(await send(dashboard.client(), { ...fields }, rejects)).toMatchObject({ status: 401 });
    const large = await send(client, { ...fields }, Buffer.alloc(64_000_001, 'a'));
    expect(large).toMatchObject({ status: 413 });
    expect('words' in large && large.words).toContain(`retry ${run}`);
    expect((await client.get('/')).status).toBe(200);
    expect((await client.get(`/runs/${run}/retry?upload=${crypto.randomUUID()}`)).words).toContain('is gone');
  });

  it('may be those of an earlier run: what has been applied since is left out', async () => {
    await using scene = await setup();
    const { nightly, client, run, rejects } = scene;
    nightly.store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-7'] });
    await nightly.workspace.storeferry('run', 'nightly', '--resend');
    nightly.store.behave();
    nightly.store.forget();
    expect((await client.get(`/runs/${run}`)).words).toContain('A later run has begun');
    const shown = await upload(scene, rejects.replace('Product 3', 'Three').replace('Product 7', 'Seven'));
    const begun = await client.submit(shown, `/runs/${run}/retry`);
    const [retry = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    const ended = await endOf(client, `/runs/${retry}`);
    expect(ended).toContain('1 record left out: another run has sent this key');
    expect(nightly.store.requests).toHaveLength(1);
    expect(nightly.store.lastBody('product-7')).toContain('Seven');
    expect((await client.get('/runs/nosuch/rejects.csv')).status).toBe(404);
  });

  it('are shown with what a spreadsheet did: what is restored, and what is not sent', async () => {
    await using scene = await setup();
    const { nightly, client, run, rejects } = scene;
    const damaged = rejects
      .replace('Product 3', 'Three')
      .replace(/(SKU-product-3-1.*?),true,/, '$1,WAHR,')
      .replace('SKU-product-7-1', '4.00638E+12');
    const shown = await upload(scene, damaged);
    expect(shown.words).toContain('1 cell edited in 1 of 2 rows, 1 cell restored, 1 cell refused');
    expect(shown.words).toContain('Restored: 1 cell');
    expect(shown.words).toMatch(/Variant Requires Shipping\s*true\s*WAHR/);
    expect(shown.words).toContain('Not sent: 1 cell');
    expect(shown.words).toMatch(
      /8\s*Variant SKU \(probably changed by a spreadsheet\)\s*SKU-product-7-1\s*4.00638E\+12/,
    );
    const begun = await client.submit(shown, `/runs/${run}/retry`);
    const [retry = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    const ended = await endOf(client, `/runs/${retry}`);
    expect(ended).toContain('damaged-by-spreadsheet');
    expect(nightly.store.requests).toHaveLength(1);
    expect(nightly.store.lastBody('product-3')).toContain('Three');
  });
});

describe('rejected rows that are corrected in the browser', () => {
  const correct = async (
    { client, run }: Rejected,
    edits: Readonly<Record<string, string>>,
    go = 'check',
  ) => {
    const page = await client.get(`/runs/${run}/rejects`);
    const named = Object.entries(edits).map(([label, value]) => [nameOf(page, label), value]);
    return await client.submit(page, `/runs/${run}/rejects`, { go, ...Object.fromEntries(named) });
  };
  const nameOf = ({ document }: Answer, label: string) =>
    document.querySelector(`[aria-label="${label}"]`)?.getAttribute('name') ?? `no field ${label}`;

  it('are sent as they were typed, also where a spreadsheet might have damaged them, and formulas stay inert', async () => {
    await using scene = await setup();
    const { nightly, client, run } = scene;
    const shown = await correct(scene, {
      'Title, line 4': '=SUM(A1) "quoted", a',
      'Variant Price, line 8': '1.70',
      'Variant Requires Shipping, line 8': 'TRUE',
    });
    expect(shown.words).toContain('3 cells edited in 2 of 2 rows');
    expect(shown.words).not.toContain('restored');
    expect(nightly.store.requests).toHaveLength(0);

    const begun = await client.submit(shown, `/runs/${run}/retry`);
    const [retry = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    await endOf(client, `/runs/${retry}`);
    expect(nightly.store.requests).toHaveLength(2);
    expect(nightly.store.lastBody('product-3')).toContain('=SUM(A1) \\"quoted\\", a');
    expect(nightly.store.lastBody('product-7')).toContain('1.7');
    const file = join(nightly.workspace.dir, '.storeferry', 'artifacts', run, 'rejects.csv');
    expect(await readFile(file, 'utf8')).toContain(`"'=SUM(A1) ""quoted"", a"`);

    const again = await client.get(`/runs/${run}/rejects`);
    expect(again.words).toContain(`Run ${retry}, a retry, has sent rows of this run already`);
    expect(again.words).toContain('No cell is corrected yet');
  });

  it('are judged as a spreadsheet file again once that file is edited in its folder', async () => {
    await using scene = await setup();
    const { nightly, client, run } = scene;
    const shown = await correct(scene, { 'Variant SKU, line 4': '4.00638E+12' });
    const begun = await client.submit(shown, `/runs/${run}/retry`);
    await endOf(client, `/runs/${/(?<=Run )\w+/.exec(begun.words)?.[0]}`);
    const path = `.storeferry/artifacts/${run}/rejects.csv`;
    const typed = await readFile(join(nightly.workspace.dir, path), 'utf8');
    await nightly.workspace.write(path, typed.replace('Product 7', 'Seven'));
    const inFolder = await client.get(`/runs/${run}/retry?upload=in-folder`);
    expect(inFolder.words).toContain('1 cell refused');
  });

  it('keep their corrections while the visitor looks at them, and leave out what went back to its old value', async () => {
    await using scene = await setup();
    const { client, run } = scene;
    const kept = await correct(scene, { 'Title, line 4': 'Three', 'Title, line 8': 'Seven' }, '1');
    expect(kept.words).toContain('2 cells corrected so far');
    expect(kept.words).toContain('was Product 3');
    const back = await client.submit(kept, `/runs/${run}/rejects`, {
      go: '1',
      [nameOf(kept, 'Title, line 8')]: 'Product 7',
    });
    expect(back.words).toContain('1 cell corrected so far');
    const other = await client.get(`/runs/${run}/rejects`);
    expect(other.words).toContain('No cell is corrected yet');
  });

  it('are left out of later runs by choice, and exchanged as the spreadsheet of a visitor opens them', async () => {
    await using scene = await setup();
    const { nightly, client, run } = scene;
    const { store, workspace } = nightly;
    const form = `/runs/${run}/rejects`;
    const leaving = '/jobs/nightly/leave-out';
    const page = await client.get(form);
    const typed = { [nameOf(page, 'Title, line 8')]: 'Seven' };
    const asked = await client.submit(page, form, { ...typed, go: 'leave:product-3' });
    expect(asked.words).toContain('product-3, of nightly');
    const back = await client.submit(asked, leaving);
    expect(back.words).toContain('Later runs leave it out');
    // What was typed meanwhile is still there.
    expect(back.words).toContain('1 cell corrected so far');

    const night = async (job = 'nightly') => {
      store.forget();
      return (await workspace.storeferry('run', job, '--json')).json();
    };
    const second = await night();
    expect(second).toMatchObject({ applied: 1, skipped: 1, rejected: 0, unchanged: 18 });
    expect((await client.get(`/runs/${second['run']}`)).words).toContain('Left out by choice');
    expect((await client.get('/jobs/nightly')).body).toContain(`href="${leaving}">1 record</a>`);
    await client.submit(await client.get(leaving), leaving, { 'record.0': 'product-3' });
    expect((await client.get(leaving)).words).toContain('None');
    // Its block of the source has not changed, and is read all the same.
    expect(await night()).toMatchObject({ applied: 1, skipped: 0, unchanged: 19 });
    expect(store.lastBody('product-3')).toContain('Product 3');

    const german = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.7' };
    const { body } = await client.get(`/runs/${run}/rejects.csv`, german);
    expect(body).toMatch(/^\ufeff?Handle;/);
    const shown = await upload(scene, body.replace('Product 3', 'Three'));
    expect(shown.words).toContain('1 cell edited in 1 of 2 rows');
    expect(shown.words).not.toContain('restored');
    const records = await client.get(`/runs/${run}/records.csv`, german);
    expect(records.body).toContain('product-7;rejected;store-422');
    expect((await client.get(`/runs/${run}/records.csv`)).body).toContain('product-7,rejected,store-422');

    const rows = [
      ['Handle', 'Title', 'Variant Price'],
      ['mug', '', '4.00'],
      ['', 'Pot', '3.00'],
    ];
    await writeFile(join(workspace.dir, 'goods.xlsx'), makeXlsx([{ name: 'Goods', rows }]));
    await workspace.write('mappings/goods.yaml', GOODS);
    await workspace.write(
      'jobs/goods.yaml',
      'import: products\nstore: main\nsource: { path: goods.xlsx }\nmapping: goods\nsafety: { maxRejects: off }\n',
    );
    const { run: ofSheet } = await night('goods');
    const sheet = await client.get(`/runs/${ofSheet}/rejects`);
    const blank = [...sheet.document.querySelectorAll('[aria-invalid]')];
    expect(blank.map((cell) => cell.getAttribute('aria-label'))).toEqual([
      'Title, Goods row 2',
      'Handle, Goods row 3',
    ]);
    expect((await client.get(`/runs/${ofSheet}`)).body).toContain(`/runs/${ofSheet}/rejects.xlsx">Download`);
    expect((await client.get(`/runs/${ofSheet}/retry`)).body).toContain('accept=".xlsx,');
  });

  it('are for those who may act', async () => {
    await using scene = await setup();
    const looking = await scene.dashboard.signedIn('readOnly');
    expect((await looking.get(`/runs/${scene.run}/rejects`)).status).toBe(403);
    const page = await scene.client.get(`/runs/${scene.run}/rejects`);
    const { fields } = formOf(page, `/runs/${scene.run}/rejects`);
    expect((await looking.post(`/runs/${scene.run}/rejects`, fields)).status).toBe(403);
    const strange = { ...fields, csrfToken: 'x' };
    expect((await scene.client.post(`/runs/${scene.run}/rejects`, strange)).status).toBe(403);
  });
});

it('the report of a run is shown with nothing but its own style', async () => {
  await using scene = await setup();
  const { client, run } = scene;
  const { status, headers, body } = await client.get(`/runs/${run}/report.html`);
  expect(status).toBe(200);
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'; style-src 'sha256-");
  expect(policy).toContain('sandbox');
  expect(policy).not.toContain('script-src');
  expect(body.match(/<style/g)).toHaveLength(1);
});
