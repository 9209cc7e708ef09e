import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { runOrThrow } from '../support/processes.ts';
import { makeWorkspace } from '../support/workspace.ts';

const OF_STORE =
  'import: products\ncolumns: { n: N }\nproduct: { url: n, title: n }\nvariants: { pricing: { price: { const: 1 } } }\n';

it('check --changed takes the jobs and mappings that differ from a git ref, and refuses where there is no git', async () => {
  const files = catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1)));
  await using workspace = await makeWorkspace(files, { STORE_API_KEY: 'key' });
  const JOB = 'import: products\nstore: main\nsource: { path: other.csv }\nmapping: shopify-products\n';
  await workspace.write('jobs/other.yaml', JOB);
  await workspace.write('other.csv', 'a\n');
  const git = (...args: readonly string[]) =>
    runOrThrow('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: workspace.dir,
    });
  const check = (...args: readonly string[]) => workspace.storeferry('check', '--json', ...args);

  const outside = await workspace.storeferry('check', '--changed', 'main');
  expect([outside.code, outside.stderr]).toEqual([2, expect.stringContaining('not a git repository')]);
  await git('init', '--quiet', '--initial-branch', 'main');
  await workspace.write('.gitignore', '.storeferry\n.env\n');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'first');
  expect((await check('--changed', 'main')).json()).toMatchObject({ ok: true, jobs: [], mappings: [] });
  expect((await check('--changed', 'gone')).code).toBe(2);
  expect((await check('--changed', '--upload-pack=x')).code).toBe(2);

  await git('switch', '--quiet', '--create', 'work');
  // In a commit, in the working tree, and as a new file.
  await workspace.write('other.csv', 'a\nb\n');
  await git('commit', '--quiet', '--all', '--message', 'second');
  await workspace.write('jobs/added.yaml', JOB);
  const both = (await check('--changed', 'main')).json();
  expect(both).toMatchObject({
    jobs: ['added', 'other'],
    mappings: ['shopify-products'],
    base: (await git('rev-parse', 'main')).stdout.trim(),
  });
  // What changes on the other side later is no change of this one.
  await git('stash', '--quiet', '--include-untracked');
  await git('switch', '--quiet', 'main');
  await workspace.write('jobs/nightly.yaml', `${files['jobs/nightly.yaml']}\n# changed\n`);
  await git('commit', '--quiet', '--all', '--message', 'third');
  await git('switch', '--quiet', 'work');
  expect((await check('--changed', 'main')).json()['jobs']).toEqual(['other']);
  const { stdout } = await workspace.storeferry('check', '--changed', 'main');
  expect(stdout).toMatch(/^Changed since [0-9a-f]{12}: other\.$/m);
  // What only `adopt` and `images` read.
  const pictures =
    'images: { publish: { from: photos, path: public, address: "https://images.example/" } }\n';
  await workspace.write(
    'jobs/adopting.yaml',
    `${JOB}adopt: { path: store.csv, mapping: of-store }\n${pictures}`,
  );
  const inner = { 'mappings/of-store.yaml': OF_STORE, 'store.csv': 'N\n', 'photos/a.jpg': 'x' };
  for (const [name, content] of Object.entries(inner)) await workspace.write(name, content);
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'fourth');
  for (const [name, content] of Object.entries(inner)) {
    await workspace.write(name, `${content}# changed\n`);
    expect((await check('--changed', 'HEAD')).json()['jobs'], name).toEqual(['adopting']);
    await git('checkout', '--quiet', '.');
  }
  // The transforms of the workspace, which a mapping test uses.
  const config = (first: string) =>
    `export default { transforms: { first: (text: string) => ${JSON.stringify(first)} + text } };\n`;
  await workspace.write('storeferry.config.ts', config('our '));
  await workspace.write(
    'mappings/of-store.yaml',
    `${OF_STORE.replace('title: n', 'title: [n, { custom: first }]')}tests: [{ name: custom, rows: [[N], [Mug]], expect: [{ key: Mug, includes: { title: our Mug } }] }]\n`,
  );
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'fifth');
  expect((await workspace.storeferry('check', '--changed', 'HEAD')).stdout).not.toContain('Next:');
  await workspace.write('storeferry.config.ts', config('my '));
  const custom = await check('--changed', 'HEAD');
  expect(custom.json()).toMatchObject({
    ok: false,
    problems: [{ message: expect.stringContaining('found "my Mug"') }],
    jobs: ['adopting'],
  });
  await git('checkout', '--quiet', '.');
  // An error elsewhere is an error.
  await workspace.write('jobs/nightly.yaml', 'import: products\n');
  expect(await check('--changed', 'main')).toMatchObject({ code: 2 });
});
