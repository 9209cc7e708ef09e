import { hash } from 'node:crypto';
import { existsSync, globSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openShop } from '../queue/workers-setup.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { aList, setupExports } from '../support/exports.ts';
import { setupNightly } from '../support/nightly.ts';
import { patience } from '../support/pace.ts';
import { runOrThrow as run, runProcess } from '../support/processes.ts';
import { describeWithRedis } from '../support/redis.ts';
import { s3Environment } from '../support/s3-environment.ts';
import { startS3 } from '../support/s3-server.ts';
import { describeWithSshd, startSshd } from '../support/sshd.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** What a clone has, and `npm pack` or what it calls looks at. */
const CLONED = [
  ...[
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'rolldown.config.ts',
    'packed-manifest.ts',
    '.npmrc',
    'README.md',
    'LICENSE',
  ],
  ...['CHANGELOG.md', 'docs', 'src', 'mappings', 'jobs', 'stores.yaml'],
];
/** On disk, with all optional parts: the packages alone took 110 MB before they were bundled. */
const MOST_MIB = 25;
/** What a command may load: modules of src/ and of packages one by one were 500 to 800 files. */
const MOST_FILES = 75;
const MOST_LOADED_MIB = 3;

const component = z.strictObject({
  type: z.enum(['application', 'library']),
  'bom-ref': z.string(),
  group: z.string().optional(),
  name: z.string(),
  version: z.string(),
  hashes: z.array(z.strictObject({ alg: z.literal('SHA-512'), content: z.hex().length(128) })).optional(),
  licenses: z
    .array(
      z.union([
        z.strictObject({ license: z.strictObject({ id: z.string().regex(/^[\w.+-]+$/) }) }),
        z.strictObject({ expression: z.string() }),
      ]),
    )
    .min(1),
  purl: z.string().regex(/^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/),
});
/** What is used of CycloneDX 1.6. */
const bomSchema = z.strictObject({
  $schema: z.literal('http://cyclonedx.org/schema/bom-1.6.schema.json'),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  version: z.literal(1),
  metadata: z.strictObject({ component }),
  components: z.array(component.required({ hashes: true })),
  dependencies: z.array(z.strictObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/** Packs a copy of what a clone has, and returns the path of the archive. */
async function pack(clone: string, to: string): Promise<string> {
  for (const name of CLONED) await cp(join(ROOT, name), join(clone, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', to], { cwd: clone });
  const [tarball = ''] = (await readdir(to)).filter((name) => name.endsWith('.tgz'));
  return join(to, tarball);
}

/** Reports each file that a process loads as code. */
const LISTING = `data:text/javascript,import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { if (url.startsWith('file:')) console.error('loads ' + url.slice(7)); return next(url, context); } });`;

describe('what `npm pack` makes of a fresh clone, installed by itself', {
  timeout: patience(300_000),
}, () => {
  let folder: string;
  let prefix: string;
  let installed: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'storeferry-package-'));
    prefix = join(folder, 'prefix');
    installed = join(prefix, 'lib', 'node_modules', 'storeferry');
    const tarball = await pack(join(folder, 'clone'), folder);
    // Nothing else is to be fetched, so no registry is needed.
    const install = ['install', '--global', '--offline', '--no-audit', '--no-fund', '--prefix', prefix];
    const { stderr } = await run('npm', [...install, tarball], { cwd: folder });
    expect(stderr).not.toMatch(/install-scripts|allow-scripts|deprecated/);
    vi.stubEnv('STOREFERRY_MAIN', join(installed, 'dist', 'cli', 'main.js'));
  }, patience(300_000));
  afterAll(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });

  it(
    'is the same to the byte when it is packed again, in another folder',
    async () => {
      const again = await pack(join(folder, 'another', 'deeper', 'clone'), join(folder, 'another'));
      const [first = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
      expect(hash('sha256', await readFile(again))).toBe(hash('sha256', await readFile(join(folder, first))));
    },
    patience(300_000),
  );

  it('has the files that it should have, and no others', async () => {
    const files = globSync('**', { cwd: installed, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(installed, join(entry.parentPath, entry.name)));
    const copied = files.filter((name) => !name.startsWith('dist/'));
    const wanted = ['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json', 'stores.yaml'];
    const inFolders = globSync('{jobs,mappings,docs}/**', { cwd: ROOT, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
    expect(copied.sort()).toEqual([...wanted, ...inFolders].sort());
    const built = [
      /^dist\/(?:LICENSES\.txt|sbom\.cdx\.json)$/,
      /^dist\/cli\/(?:[\w-]+\.js|node-version\.cjs|report\.css)$/,
      /^dist\/cli\/open-workspace\.d\.ts$/,
      /^dist\/cli\/mappings\/[\w-]+\.json$/,
      /^dist\/cli\/data\/words\.json$/,
      /^dist\/cli\/public\/[\w./-]+\.(?:js|css|svg|ico|png|woff2)$/,
      /^dist\/cli\/bull-board\/dist\/[\w./-]+\.(?:js|css|svg|ico|png|ejs|html|json|map|txt|woff2?|d\.ts|ts)$/,
    ];
    const strays = files.filter((name) => name.startsWith('dist/') && !built.some((one) => one.test(name)));
    expect(strays).toEqual([]);
    expect(built.filter((one) => !files.some((name) => one.test(name)))).toEqual([]);
    // No name of a folder of the machine that built it.
    const code = files.filter((name) => /^dist\/cli\/[\w-]+\.js$/.test(name));
    const texts = await Promise.all(code.map((name) => readFile(join(installed, name), 'utf8')));
    expect(texts.filter((text) => text.includes(ROOT) || text.includes(folder))).toEqual([]);
  });

  it('has the text of each license, and lists each package with its checksum (CycloneDX)', async () => {
    const bom = bomSchema.parse(JSON.parse(await readFile(join(installed, 'dist', 'sbom.cdx.json'), 'utf8')));
    expect(bom.metadata.component.version).toBe(packageJson.version);
    expect(bom.components.length).toBeGreaterThan(100);
    expect(bom.dependencies[0]?.dependsOn).toEqual(bom.components.map((one) => one.purl));
    const licenses = await readFile(join(installed, 'dist', 'LICENSES.txt'), 'utf8');
    const parts = licenses.split(`\n\n${'-'.repeat(80)}\n\n`);
    expect(parts).toHaveLength(bom.components.length);
    for (const [index, { group, name, version }] of bom.components.entries()) {
      const [title = '', ...text] = (parts[index] ?? '').split('\n');
      expect(title).toMatch(/^\S+ \S+ \((?!undefined)[^)]+(?:\))?\)$/);
      expect(title).toContain(`${group === undefined ? name : `${group}/${name}`} ${version} (`);
      expect([title, text.join('\n').trim().length > 300]).toEqual([title, true]);
    }
  });

  it('is small, needs no other package, and has the licenses of those that it contains', async () => {
    const files = globSync('**', { cwd: installed }).map((name) => join(installed, name));
    const bytes = files.map((file) => statSync(file)).reduce((sum, stat) => sum + stat.blocks * 512, 0);
    expect(bytes / 1024 ** 2).toBeLessThan(MOST_MIB);
    const typed = files.filter((name) => /\.ts$|node_modules.*node_modules/.test(name));
    expect(typed.map((name) => relative(installed, name)).sort()).toEqual([
      'dist/cli/open-workspace.d.ts',
      'docs/library-example.ts',
    ]);
    const licenses = await readFile(join(installed, 'dist', 'LICENSES.txt'), 'utf8');
    for (const name of ['zod', 'bullmq', '@aws-sdk/client-s3', 'ssh2', '@bull-board/ui', 'sanitize-html']) {
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\S+ \\(\\S+\\)$`, 'm'));
    }
    expect(licenses.match(/Copyright \(c\)/gi)?.length).toBeGreaterThan(100);
  });

  it('names no package to fetch in its manifest, and lists those of package.json with its versions as bundled', async () => {
    const packed = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    const { dependencies, devDependencies, overrides, ...rest } = packageJson;
    expect(packed).toEqual(rest);
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
    const bom = bomSchema.parse(JSON.parse(await readFile(join(installed, 'dist', 'sbom.cdx.json'), 'utf8')));
    const bundled = bom.components.map(
      ({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`,
    );
    const wanted = Object.keys(dependencies).map(
      (name) => `${name} ${packages[`node_modules/${name}`].version}`,
    );
    expect(bundled).toEqual(expect.arrayContaining(wanted));
    // The clone is as it was.
    expect(await readFile(join(folder, 'clone', 'package.json'), 'utf8')).toBe(
      await readFile(join(ROOT, 'package.json'), 'utf8'),
    );
    expect(existsSync(join(folder, 'clone', '.package.json.kept'))).toBe(false);
  });

  it('runs a job and the demo from any folder', async () => {
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    const command = join(prefix, 'bin', 'storeferry');
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: elsewhere, TMPDIR: elsewhere };
    await using nightly = await setupNightly(20);
    const { store, workspace } = nightly;
    const ran = await run(command, ['-C', workspace.dir, 'run', 'nightly', '--json'], {
      cwd: elsewhere,
      env: { ...env, STORE_API_KEY: store.apiKey },
    });
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'done', applied: 20 });

    const demo = await run(command, ['demo'], { cwd: elsewhere, env });
    expect(demo.stdout).toContain('That was the demo.');
    expect(demo.stderr).not.toContain('Warning:');
    const printed = [...demo.stdout.matchAll(/Report: (\S+)/g)].map(([, path = '']) => path);
    expect(printed.length).toBeGreaterThan(3);
    expect(printed.filter((path) => !existsSync(resolve(elsewhere, path)))).toEqual([]);
    // The next demo takes the place of this one.
    await run(command, ['demo'], { cwd: elsewhere, env });
    expect(printed.filter((path) => existsSync(resolve(elsewhere, path)))).toEqual([]);
  });

  it('is a library: the example of the documents has its types, and plans and sends', async () => {
    const app = join(folder, 'app');
    await mkdir(join(app, 'node_modules'), { recursive: true });
    await symlink(installed, join(app, 'node_modules', 'storeferry'));
    await cp(join(ROOT, 'docs', 'library-example.ts'), join(app, 'example.ts'));
    await writeFile(join(app, 'package.json'), '{ "type": "module" }');
    const wrong = "import { openWorkspace } from 'storeferry';\nopenWorkspace(1);\n";
    await writeFile(join(app, 'wrong.ts'), wrong);
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const typeRoots = [
      '--lib',
      'es2024,esnext.disposable',
      '--typeRoots',
      join(ROOT, 'node_modules', '@types'),
    ];
    const tsc = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), ...options, ...typeRoots];
    await run(process.execPath, [...tsc, 'example.ts'], { cwd: app });
    const refused = await runProcess(process.execPath, [...tsc, 'wrong.ts'], { cwd: app });
    expect(refused.stdout).toContain("'number' is not assignable to parameter of type 'string'");

    await using nightly = await setupNightly(20);
    const { store, workspace } = nightly;
    const env = { PATH: process.env['PATH'], STORE_API_KEY: store.apiKey };
    const sent = await run(process.execPath, ['example.ts', workspace.dir, 'nightly'], { cwd: app, env });
    expect(sent.stdout).toMatch(/^\w+: done, 20 sent\n$/);
    expect(sent.stderr).toMatch(/^plan: \d+ rows$/m);
    expect(store.requests).toHaveLength(20);
    const failed = await runProcess(process.execPath, ['example.ts', workspace.dir, 'other'], {
      cwd: app,
      env,
    });
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("code: 'usage'")]);
  });

  it('loads few files for a command, and none of what the command does not use', async () => {
    await using store = await startStore({ seed: 1 });
    await using workspace = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(3))),
      { STORE_API_KEY: store.apiKey, NODE_OPTIONS: `--import="${LISTING.replaceAll('\n', '')}"` },
    );
    for (const command of [['--help'], ['check'], ['plan', 'nightly'], ['runs']]) {
      const { code, stderr } = await workspace.storeferry(...command);
      expect([command, code]).toEqual([command, 0]);
      const loaded = [...stderr.matchAll(/^loads (.*\.js)$/gm)].map(([, file = '']) => file);
      expect(loaded.length).toBeGreaterThan(3);
      expect(loaded.length).toBeLessThan(MOST_FILES);
      const bytes = loaded.reduce((sum, file) => sum + statSync(file).size, 0);
      expect(bytes / 1024 ** 2).toBeLessThan(MOST_LOADED_MIB);
      const texts = await Promise.all(loaded.map((file) => readFile(file, 'utf8')));
      const packages = texts.flatMap((text) => text.match(/(?<=^\/\/ .*node_modules\/)(?:@[^/]+\/)?[^/]+/gm));
      // Help comes at once: it loads no schema.
      expect(packages.includes('zod')).toBe(command[0] !== '--help');
      for (const name of ['undici', 'ioredis', 'bullmq', 'fastify', 'ssh2', '@aws-sdk/client-s3', 'd3']) {
        expect([command, packages.includes(name) ? name : null]).toEqual([command, null]);
      }
    }
  });

  it('is refused by a Node that is too old, in one sentence', async () => {
    const claiming =
      "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})";
    const main = join(installed, 'dist', 'cli', 'main.js');
    const { code, stdout, stderr } = await runProcess(process.execPath, ['--import', claiming, main, 'runs']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^Storeferry needs Node\.js 24\.\d+ or later, and this is Node\.js 20\.20\.2 .*\n$/,
    );
  });

  it('shows in the stack of a bug the names of functions', async () => {
    const files = await readdir(join(installed, 'dist', 'cli'));
    const code = await readFile(join(installed, 'dist', 'cli', 'commands.js'), 'utf8');
    expect(files).toContain('plan-command.js');
    expect(code).toContain('async function runCommandLine(args, terminal) {\n');
  });

  it('reads spreadsheets, writes workbooks, and cleans HTML', async () => {
    await using store = await startStore({ seed: 1 });
    const rows = shopifyCatalog(manyProducts(4))
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','));
    const files = catalogWorkspace(store.baseUrl, 'unused');
    await using workspace = await makeWorkspace(
      {
        ...files,
        'jobs/nightly.yaml': `import: products\nstore: main\nsource: { path: catalog.xlsx }\nmapping: shopify-products\n`,
      },
      { STORE_API_KEY: store.apiKey },
    );
    await writeFile(join(workspace.dir, 'catalog.xlsx'), makeXlsx([{ name: 'Products', rows }]));
    const checked = await workspace.storeferry('check');
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    const ran = await workspace.storeferry('run', 'nightly', '--json');
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.json()).toMatchObject({ status: 'done', applied: 4 });
    const catalog = await workspace.storeferry('catalog', '--out', join(workspace.dir, 'all.xlsx'));
    expect(catalog.code, catalog.stderr).toBe(0);
  });

  it('draws plots', async () => {
    await using exports = await setupExports({
      lists: 'export: subscriber-lists\ndestination: { path: lists.csv, mode: append }\n',
    });
    exports.store.shop.lists.push(aList(1, 'News'), aList(2, 'Offers'));
    for (const _ of [1, 2]) await exports.workspace.storeferry('run', 'lists');
    const ran = await exports.workspace.storeferry('run', 'lists', '--json');
    const report = await exports.read(`.storeferry/artifacts/${ran.json()['run']}/report.html`);
    expect(report).toContain('<svg');
  });

  it('keeps its artifacts in S3', async () => {
    await using server = await startS3();
    await using store = await startStore({ seed: 1 });
    await using workspace = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(5))),
      { STORE_API_KEY: store.apiKey, ...s3Environment(server, 'packed') },
    );
    const ran = await workspace.storeferry('run', 'nightly', '--json');
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.json()).toMatchObject({ applied: 5 });
    expect(server.requests.filter((request) => request.startsWith('PUT')).length).toBeGreaterThan(0);
  });

  describeWithSshd('beside an SSH server', () => {
    it('reads files from it', async () => {
      await using sshd = await startSshd();
      await using store = await startStore({ seed: 1 });
      const source = `{ sftp: { address: "${sshd.address('in.csv')}", hostKey: "${sshd.hostKey}", privateKey: "\${SFTP_KEY}", allowPrivateAddresses: true } }`;
      const { 'jobs/nightly.yaml': job = '', ...files } = catalogWorkspace(store.baseUrl, 'unused');
      await using workspace = await makeWorkspace(
        { ...files, 'jobs/nightly.yaml': job.replace('{ path: catalog.csv }', source) },
        { STORE_API_KEY: store.apiKey, SFTP_KEY: sshd.privateKey.replaceAll('\n', '\\n') },
      );
      await writeFile(join(sshd.folder, 'in.csv'), shopifyCatalog(manyProducts(3)));
      const ran = await workspace.storeferry('run', 'nightly', '--json');
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.json()).toMatchObject({ status: 'done', applied: 3 });
    });
  });

  describeWithRedis('on Redis', () => {
    it('works, and shows the queues in the dashboard', async () => {
      await using shop = await openShop({ products: 5 });
      await shop.worker();
      const ran = await shop.workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.json()).toMatchObject({ status: 'done', applied: 5 });
      const dashboard = await serveDashboard(shop.workspace);
      const client = await dashboard.signedIn('full');
      const page = await client.get('/queues');
      expect(page.status).toBe(200);
      const [, script = ''] = /src="(\/queues\/static\/[^"]+\.js)"/.exec(page.body) ?? [];
      expect((await client.get(script, { accept: '*/*' })).status).toBe(200);
      for (const path of ['/assets/dashboard.css', '/assets/report.css', '/assets/live.js']) {
        expect([path, (await client.get(path, { accept: '*/*' })).status]).toEqual([path, 200]);
      }
    });
  });
});
