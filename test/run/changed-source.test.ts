import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';

const MAPPING = `import: products
columns: { url: Url, title: Title, price: Price, stock: { header: [Qty, Stock] }, note: Note }
product: { url: url, title: title, description: note }
variants: { pricing: { price: price }, quantity: [stock, integer] }
`;
const HEADER = ['Url', 'Title', 'Price', 'Qty'];
const ROWS = [HEADER, ['mug', 'Mug', '10', '5'], ['cup', 'Cup', '12', '7']];

async function setup(source: string) {
  const store = await startStore({ seed: 1 });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/nightly.yaml': `import: products\nstore: main\nsource: ${source}\nmapping: own\n`,
      'mappings/own.yaml': MAPPING,
    },
    { STORE_API_KEY: store.apiKey },
  );
  return {
    workspace,
    save: (name: string, content: string | Buffer) => writeFile(join(workspace.dir, name), content),
    async notesOf(command: string) {
      const { code, stdout } = await workspace.storeferry(command, 'nightly');
      expect(code).toBe(0);
      return stdout.replaceAll(/\s+/g, ' ');
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

const csv = (rows: readonly (readonly string[])[]) => rows.map((row) => `${row.join(',')}\n`).join('');

it('names a column that the last run read and the source no longer has, until a run has read it so', async () => {
  await using scene = await setup('{ path: in.csv }');
  await scene.save('in.csv', csv(ROWS));
  const first = await scene.notesOf('run');
  expect(first).not.toContain('no longer has');
  const [, id] = /\(run (\w+)\)/.exec(first) ?? [];

  const note = `The source no longer has the column 'Qty / Stock', which run ${id} read`;
  await scene.save('in.csv', csv(ROWS.map((row) => row.slice(0, 3))));
  expect(await scene.notesOf('plan')).toContain(note);
  expect(await scene.notesOf('run')).toContain(note);
  expect(await scene.notesOf('run')).not.toContain('no longer has');
  await scene.save('in.csv', csv(ROWS));
  expect(await scene.notesOf('run')).not.toContain('no longer has');
});

it('names a column of several files only once none of them has it', async () => {
  await using scene = await setup('{ path: "in*.csv" }');
  const shorter = ROWS.map((row) => row.slice(0, 3));
  await scene.save('in1.csv', csv(ROWS));
  await scene.notesOf('run');
  await scene.save('in2.csv', csv([HEADER.slice(0, 3), ['jug', 'Jug', '9']]));
  expect(await scene.notesOf('run')).not.toContain('no longer has');
  await scene.save('in1.csv', csv(shorter));
  expect(await scene.notesOf('run')).toContain("The source no longer has the column 'Qty / Stock'");
});

it('names another sheet than the last run read', async () => {
  await using scene = await setup('{ path: in.xlsx, sheet: 1 }');
  await scene.save('in.xlsx', makeXlsx([{ name: 'Prices', rows: ROWS }]));
  const first = await scene.notesOf('run');
  const [, id] = /\(run (\w+)\)/.exec(first) ?? [];
  expect(first).not.toContain('The sheet');
  await scene.save(
    'in.xlsx',
    makeXlsx([
      { name: 'Old prices', rows: ROWS },
      { name: 'Prices', rows: ROWS },
    ]),
  );
  expect(await scene.notesOf('run')).toContain(`The sheet 'Old prices' was read; run ${id} read 'Prices'.`);
});
