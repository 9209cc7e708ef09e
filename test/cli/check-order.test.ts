import { chmodSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { makeWorkspace } from '../support/workspace.ts';

const MAPPING = `import: products
columns: { code: Code, name: Name }
product: { url: code, title: name }
variants: { pricing: { price: code } }
tests:
  - { name: one, rows: "Code,Name\\n1,Mug\\n", expect: [{ rejects: never-so }] }
`;

it('check lists what is wrong file by file, from top to bottom, as one corrects it', async () => {
  await using workspace = await makeWorkspace({
    'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY_THAT_NOBODY_SET}" }\n`,
    'jobs/b.yaml': 'import: products\nstore: main\nsource: { path: not-there.csv }\nmapping: list\n',
    'jobs/a.yaml': 'import: products\nstore: man\nsource: { path: a.csv }\nmapping: list\nduplicates: keep\n',
    'mappings/list.yaml': MAPPING,
  });
  const { terminal, out } = memoryTerminal();
  expect(await runCommandLine(['-C', workspace.dir, 'check'], terminal)).toBe(2);
  const places = [...out().matchAll(/^(?:error|warning) +([\w./-]+):(\d+)/gm)].map(
    ([, file = '', line]) => [relative(workspace.dir, file), Number(line)] as const,
  );
  expect(places.map(([file]) => file)).toEqual([
    ...['jobs/a.yaml', 'jobs/a.yaml', 'jobs/b.yaml', 'mappings/list.yaml', 'stores.yaml'],
  ]);
  expect(places[0]?.[1]).toBeLessThan(places[1]?.[1] ?? 0);
});

it('check prints the safety limits of import jobs, of jobs that have the same together, their guards and waves', async () => {
  const products = 'import: products\nstore: main\nsource: { path: a.csv }\nmapping: list\n';
  await using workspace = await makeWorkspace({
    'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY_THAT_NOBODY_SET}" }\n`,
    'jobs/a.yaml': products,
    'jobs/b.yaml': `${products}apply: { waves: [10, 1%, 100%], maxAltered: off }\nguards:\n  - { field: variants.price, changeBy: 50%, action: hold }\n  - { field: variants.quantity, to: 0, share: 20%, action: stop }\n`,
    'jobs/c.yaml': `${products}mode: mirror\nsafety: { maxPriceMoves: 20 }\n`,
    'jobs/d.yaml':
      'import: contacts\nstore: main\nsource: { path: a.csv }\nmapping: google-contacts\ncrosswalk: { path: ids.csv, match: email }\nsafety: { minRows: off }\n',
    'mappings/list.yaml': MAPPING.replace('rejects: never-so', 'rejects: title'),
  });
  const { terminal, out } = memoryTerminal();
  await runCommandLine(['-C', workspace.dir, 'check'], terminal);
  expect(
    out()
      .split('\n')
      .filter((line) => line.match(/^(Safety limits|Guard|Waves) /)),
  ).toEqual([
    'Safety limits of a and b: maxRejects 10%, maxSkipped 50%, minRows 80%, maxChanges off, maxPriceMoves 5%',
    'Safety limits of c: maxDeletes 5%, maxRejects 10%, maxSkipped 50%, minRows 80%, maxChanges off, maxPriceMoves 20',
    'Safety limits of d: maxRejects 10%, maxSkipped 50%, minRows off, maxChanges off, maxCreates off',
    'Guard of b: holds records whose variants.price changes by at least 50%',
    'Guard of b: stops the run before its first request if variants.quantity becomes 0, in more than 20% of the records',
    'Waves of b: 10, 1%, 100%; maxRejects 10%, maxUnsent 1%, maxAltered off',
  ]);
});

it.skipIf(process.platform === 'win32')(
  'check prints a chmod that works from the current folder',
  async () => {
    await using workspace = await makeWorkspace({
      'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
      '.env': 'KEY=secret-enough\n',
    });
    chmodSync(join(workspace.dir, '.env'), 0o644);
    const { terminal, out } = memoryTerminal();
    await runCommandLine(['-C', workspace.dir, 'check'], terminal);
    const [, path = ''] = /chmod 600 (\S+)$/m.exec(out()) ?? [];
    expect(resolve(path)).toBe(join(workspace.dir, '.env'));
  },
);
