import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { hasRedisServer, startRedis } from '../support/redis.ts';
import { S3_KEYS, type S3Server, startS3 } from '../support/s3-server.ts';
import { describeWithSshd, startSshd } from '../support/sshd.ts';
import { type Store, startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const PRODUCTS = 50;
const FILES = 120;
/** These have the bytes of the first ones. */
const COPIES = 30;
const BROKEN = 2;
const DIFFERENT = FILES - COPIES - BROKEN;
const ADDRESS = 'https://images.example/shop/';

const MAPPING = `import: products
columns: { code: Code, name: Name, price: Price, 'photo{n}': 'Photo {n}' }
product: { url: code, title: name, images: 'photo{n}' }
variants: { sku: code, pricing: { price: price } }
`;

/** The bytes of a small picture; equal numbers give equal bytes. */
function jpeg(number: number): Buffer {
  return Buffer.concat([Buffer.from('ffd8ffe000104a46494600', 'hex'), Buffer.from(`picture ${number}`)]);
}

/** The content of each file: the last two are no pictures, those before them repeat the first ones. */
function contentOf(number: number): Buffer {
  if (number > FILES - BROKEN) return Buffer.from(number === FILES ? '' : '<!doctype html><html>');
  return jpeg(number > DIFFERENT ? number - DIFFERENT : number);
}

function photoName(number: number): string {
  return `photo ${String(number).padStart(3, '0')}.JPG`;
}

/** Each product names every fiftieth file. */
function catalog(): string {
  const lines = Array.from({ length: PRODUCTS }, (_, index) => {
    const photos = [1, 2, 3].map((n) => index + 1 + (n - 1) * PRODUCTS).filter((at) => at <= FILES);
    const names = [1, 2, 3].map((n) => (photos[n - 1] === undefined ? '' : photoName(photos[n - 1] ?? 0)));
    return [`a-${index + 1}`, `Lamp ${index + 1}`, '10.00', ...names].join(',');
  });
  return `Code,Name,Price,Photo 1,Photo 2,Photo 3\n${lines.join('\n')}\n`;
}

interface Scene extends AsyncDisposable {
  readonly store: Store;
  readonly workspace: Workspace;
}

async function setup(publish: string, env: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const store = await startStore({ seed: 1 });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
      'mappings/lamps.yaml': MAPPING,
      'jobs/lamps.yaml': `import: products\nstore: main\nsource: { path: data/lamps.csv }\nmapping: lamps\nimages:\n  publish: { from: data/photos, address: "${ADDRESS}", ${publish} }\n`,
      'data/lamps.csv': catalog(),
    },
    { STORE_API_KEY: store.apiKey, ...env },
  );
  await mkdir(join(workspace.dir, 'data/photos'));
  for (let number = 1; number <= FILES; number++) await writePhoto(workspace, number, contentOf(number));
  return {
    ...{ store, workspace },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

async function writePhoto({ dir }: Workspace, number: number, content: Buffer): Promise<void> {
  await writeFile(join(dir, 'data/photos', photoName(number)), content);
}

/** What was uploaded, by the names. */
type Uploaded = () => Promise<readonly string[]>;

/** The whole trial: a plan, a run, the same again, two pictures changed, and the run undone. */
async function trial({ workspace, store }: Scene, uploaded: Uploaded): Promise<void> {
  const textOf = async (...command: readonly string[]) => {
    const ended = await workspace.storeferry(...command);
    return { ...ended, text: ended.stdout.replaceAll(/\s+/g, ' ') };
  };
  const plan = await textOf('plan', 'lamps');
  expect(plan.text).toMatch(
    new RegExp(`${DIFFERENT} pictures \\([^)]+\\) of ${DIFFERENT} are to be uploaded\\.`),
  );
  expect(plan.text).toContain('2 files cannot be published');
  expect(plan.text).toContain(`${photoName(119)} is an HTML page, left out`);
  expect(await uploaded()).toEqual([]);

  const run = await textOf('run', 'lamps', '--json');
  expect(run.json()).toMatchObject({ status: 'done', applied: PRODUCTS, rejected: 0 });
  expect(await uploaded()).toHaveLength(DIFFERENT);
  const first = await uploaded();
  const bodies = Array.from({ length: PRODUCTS }, (_, index) => store.lastBody(`a-${index + 1}`) ?? '');
  const named = bodies.flatMap((body): string[] => JSON.parse(body).images);
  expect(named).toHaveLength(FILES - BROKEN);
  expect(new Set(named)).toEqual(new Set(first.map((name) => `${ADDRESS}${name}`)));
  expect((await textOf('runs', String(run.json()['run']))).text).toContain(`${DIFFERENT} pictures uploaded`);

  const again = await textOf('run', 'lamps', '--json');
  expect(again.json()).toMatchObject({ status: 'done', applied: 0, unchanged: PRODUCTS });
  expect(await uploaded()).toEqual(first);

  // One that only product 40 has, and one that only product 41 has.
  await writePhoto(workspace, 40, jpeg(1040));
  await writePhoto(workspace, 41, jpeg(1041));
  const changed = await textOf('run', 'lamps', '--json');
  expect(changed.json()).toMatchObject({ applied: 2, changed: 2, fieldsChanged: { images: 2 } });
  expect((await uploaded()).filter((name) => !first.includes(name))).toHaveLength(2);
  expect(await uploaded()).toEqual(expect.arrayContaining([...first]));

  const undo = await workspace.storeferry('undo', String(changed.json()['run']), '--json');
  const approved = await workspace.storeferry('approve', String(undo.json()['run']), '--json');
  expect(approved.json()).toMatchObject({ applied: 2 });
  expect(JSON.parse(store.lastBody('a-40') ?? '')).toEqual(JSON.parse(bodies[39] ?? ''));
  expect(await uploaded()).toHaveLength(DIFFERENT + 2);
}

function puts({ requests }: S3Server): readonly string[] {
  return requests.flatMap((request) => /^PUT \/bucket\/shop\/([^?]+)/.exec(request)?.[1] ?? []).sort();
}

const S3_ENV = {
  AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
};

function toS3({ endpoint }: S3Server): string {
  return `s3: { address: "s3://bucket/shop", endpoint: "${endpoint}", allowPrivateAddresses: true }`;
}

describe('images: { publish }', () => {
  it('uploads to S3 what products name, once, and rejects nothing', async () => {
    await using s3 = await startS3();
    await using scene = await setup(toS3(s3), S3_ENV);
    await trial(scene, async () => puts(s3));
    // A state that has forgotten them finds them in their place.
    await rm(join(scene.workspace.dir, '.storeferry'), { recursive: true });
    const before = puts(s3).length;
    await scene.workspace.storeferry('run', 'lamps');
    expect(puts(s3)).toHaveLength(before);
  });

  it.skipIf(!hasRedisServer())(
    'does the same with a shared state, into a folder that all may read',
    async () => {
      await using redis = await startRedis();
      await using scene = await setup('path: public/shop', { REDIS_URL: redis.url });
      const folder = join(scene.workspace.dir, 'public/shop');
      const uploaded = async () => (await readdir(folder).catch(() => [])).sort();
      await trial(scene, uploaded);
      const [name = ''] = await uploaded();
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o644);
      // What somebody has removed is put back with the next product that names it.
      await rm(join(folder, name));
      await scene.workspace.storeferry('run', 'lamps', '--resend');
      expect(await uploaded()).toContain(name);
      // Workers publish before they send.
      await writePhoto(scene.workspace, 42, jpeg(1042));
      const before = (await uploaded()).length;
      const worker = scene.workspace.start('worker');
      const queued = await scene.workspace.storeferry('enqueue', 'lamps', '--follow', '--json');
      worker.process.kill('SIGTERM');
      await worker.ended;
      expect(queued.json()).toMatchObject({ status: 'done', applied: 1, fieldsChanged: { images: 1 } });
      expect(await uploaded()).toHaveLength(before + 1);
    },
  );

  it('uploads the pictures of held records, so that they can be released without the files', async () => {
    await using scene = await setup('path: public/shop');
    const { workspace, store } = scene;
    const job = await readFile(join(workspace.dir, 'jobs/lamps.yaml'), 'utf8');
    await workspace.write(
      'jobs/lamps.yaml',
      `${job}guards: [{ field: variants.price, changeBy: 50%, action: hold }]\n`,
    );
    await workspace.storeferry('run', 'lamps');
    await writePhoto(workspace, 40, jpeg(1040));
    await workspace.write('data/lamps.csv', catalog().replace('a-40,Lamp 40,10.00', 'a-40,Lamp 40,99.00'));
    const run = await workspace.storeferry('run', 'lamps', '--json');
    expect(run.json()).toMatchObject({ held: 1, applied: 0 });
    expect(await readdir(join(workspace.dir, 'public/shop'))).toHaveLength(DIFFERENT + 1);
    await rm(join(workspace.dir, 'data'), { recursive: true });
    const released = await workspace.storeferry('release', String(run.json()['run']), '--json');
    expect(released.json()).toMatchObject({ applied: 1 });
    const { images } = JSON.parse(store.lastBody('a-40') ?? '');
    for (const address of images)
      await stat(join(workspace.dir, 'public/shop', String(address).slice(ADDRESS.length)));
  });

  it.each([{ state: 'embedded' }, { state: 'shared' }])(
    'uploads nothing twice over kills, with a state that is $state',
    { skip: !hasRedisServer() },
    async ({ state }) => {
      await using redis = state === 'shared' ? await startRedis() : undefined;
      await using s3 = await startS3();
      const shared = redis && { REDIS_URL: redis.url, STOREFERRY_LEASE_MS: '5000' };
      await using scene = await setup(toS3(s3), { ...S3_ENV, ...shared });
      let most = 0;
      let held = 0;
      s3.intercept((request, response, next) => {
        if (request.method === 'PUT' && puts(s3).length > most) held++;
        else void next(request, response);
      });
      for (most of state === 'shared' ? [40] : [20, 60]) {
        for (held = 0; held === 0; ) {
          const { process, ended } = scene.workspace.start('run', 'lamps');
          // In the shared state the lease of the killed process must end before.
          await until(() => held > 0 || process.exitCode !== null);
          process.kill('SIGKILL');
          await ended;
        }
      }
      most = Number.POSITIVE_INFINITY;
      await until(async () => (await scene.workspace.storeferry('run', 'lamps')).code === 0, {
        everyMs: 500,
      });
      expect(scene.store.figures().requests).toBe(PRODUCTS);
      expect(new Set(puts(s3)).size).toBe(DIFFERENT);
      // At most four at once were on their way at each kill.
      expect(puts(s3).length).toBeLessThanOrEqual(DIFFERENT + 2 * 4);
    },
  );
});

describeWithSshd('images: { publish: { sftp } }', () => {
  it('uploads what products name, once', async () => {
    await using sshd = await startSshd();
    const folder = join(sshd.folder, 'shop');
    await mkdir(folder);
    const address = `sftp: { address: "${sshd.address('shop')}", hostKey: "${sshd.hostKey}", privateKey: "\${SFTP_KEY}", allowPrivateAddresses: true }`;
    await using scene = await setup(address, { SFTP_KEY: sshd.privateKey });
    await trial(scene, async () => (await readdir(folder)).sort());
  });
});

interface Entry {
  readonly name: string;
  readonly content: Buffer;
  readonly mode?: number;
}

/** A zip as a hostile program writes it: `as` replaces names after their length was written. */
async function zipOf(entries: readonly Entry[], as: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const zip = new ZipFile();
  for (const { name, content, mode = 0o100644 } of entries) zip.addBuffer(content, name, { mode });
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(Buffer.from(chunk));
  let text = Buffer.concat(chunks).toString('latin1');
  for (const [from, to] of Object.entries(as)) text = text.replaceAll(from, to);
  return Buffer.from(text, 'latin1');
}

describe('a zip of pictures', () => {
  async function withZip(zip: Buffer | null) {
    const scene = await setup('path: public/shop');
    const { workspace } = scene;
    if (zip !== null) await writeFile(join(workspace.dir, 'data/photos.zip'), zip);
    const job = `import: products\nstore: main\nsource: { path: data/lamps.csv }\nmapping: lamps\nimages:\n  publish: { from: data/photos.zip, address: "${ADDRESS}", path: public/shop }\n`;
    await workspace.write('jobs/lamps.yaml', job);
    return scene;
  }

  it('is read like a folder, also with a folder in it', async () => {
    const names = Array.from({ length: FILES }, (_, index) => index + 1);
    const zip = await zipOf(names.map((n) => ({ name: `Photos/${photoName(n)}`, content: contentOf(n) })));
    await using scene = await withZip(zip);
    const run = await scene.workspace.storeferry('run', 'lamps', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
    expect(await readdir(join(scene.workspace.dir, 'public/shop'))).toHaveLength(DIFFERENT);
  });

  it('that lacks files takes no pictures from products that were sent before', async () => {
    await using scene = await withZip(await zipOf([{ name: photoName(1), content: jpeg(1) }]));
    const { store, workspace } = scene;
    const catalogOf = (first: string) =>
      `Code,Name,Price,Photo 1,Photo 2\na-1,Lamp,10.00,1.jpg,2.jpg\na-2,Mug,10.00,3.jpg,\na-3,Bowl,10.00,${first},5.jpg\n`;
    const give = async (...numbers: readonly number[]) => {
      const entries = numbers.map((n) => ({ name: `${n % 10}.jpg`, content: jpeg(n) }));
      await writeFile(join(workspace.dir, 'data/photos.zip'), await zipOf(entries));
      return (await workspace.storeferry('run', 'lamps', '--json')).json();
    };
    const picturesOf = (key: string): unknown[] => JSON.parse(store.lastBody(key) ?? '').images;
    await workspace.write('data/lamps.csv', catalogOf(''));
    expect(await give(1, 2, 3, 5)).toMatchObject({ applied: 3 });
    const before = picturesOf('a-1');
    expect(before).toHaveLength(2);

    expect(await give(1)).toMatchObject({ status: 'done', applied: 0, unchanged: 3 });
    expect(await give(11)).toMatchObject({ applied: 0, unchanged: 3 });
    // A picture that is there is sent where no other is lost for it.
    await workspace.write('data/lamps.csv', catalogOf('4.jpg'));
    expect(await give(1, 4)).toMatchObject({ applied: 1, fieldsChanged: { images: 1 } });
    expect(await give(11, 12, 3, 4, 5)).toMatchObject({ applied: 2, fieldsChanged: { images: 2 } });
    expect(picturesOf('a-1')).toHaveLength(2);
    expect(picturesOf('a-1')).not.toEqual(before);
  });

  it.each([
    {
      what: 'a path outside',
      zip: () => zipOf([{ name: 'aa/photo.jpg', content: jpeg(1) }], { 'aa/photo.jpg': '../photo.jpg' }),
      says: 'leads out of the zip',
    },
    {
      what: 'a link',
      zip: () => zipOf([{ name: 'photo.jpg', content: Buffer.from('/etc/passwd'), mode: 0o120777 }]),
      says: 'is a link, not a file',
    },
    {
      what: 'a bomb',
      zip: () =>
        zipOf(
          [1, 2].map((n) => ({
            name: `${n}.jpg`,
            content: Buffer.concat([jpeg(n), Buffer.alloc(40 * 1024 ** 2)]),
          })),
        ),
      says: 'made to fill disks',
    },
    { what: 'no zip', zip: async () => Buffer.from('no zip'), says: 'cannot be read' },
    { what: 'no file', zip: async () => null, says: 'The pictures data/photos.zip are not there.' },
  ])('is refused for $what, with nothing sent', async ({ zip, says }) => {
    await using scene = await withZip(await zip());
    const run = await scene.workspace.storeferry('run', 'lamps', '--json');
    expect(run.code).toBe(1);
    expect(String(run.json()['error']).replaceAll(/\s+/g, ' ')).toContain(says);
    expect(scene.store.figures().requests).toBe(0);
  });

  it('is refused in a folder with a link that leads outside', async () => {
    await using scene = await setup('path: public/shop');
    await symlink('/etc/passwd', join(scene.workspace.dir, 'data/photos/photo.jpg'));
    const run = await scene.workspace.storeferry('run', 'lamps', '--json');
    expect(String(run.json()['error'])).toContain('leads outside the workspace');
  });
});
