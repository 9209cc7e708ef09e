import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { delay, errorAnswer, resetAfter } from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import { SCALE } from './scale.ts';
import { openScene } from './scene.ts';
import { spansOf } from './spans.ts';

const POLICIES = ['reject', 'first', 'last'] as const;
type Policy = (typeof POLICIES)[number];
const KEYS = 120;
const CONTACTS = Array.from({ length: KEYS }, (_, index) => index + 1);

const PRODUCTS_MAPPING = `
import: products
columns: { url: url, title: title, price: price }
product: { url: url, title: title }
variants: { pricing: { price: price } }
`;
const CONTACTS_MAPPING = `
import: contacts
columns: { id: id, name: name, city: city, tags: tags }
contact: { id: id, name: name, city: city, tags: [tags, { split: ';' }] }
`;

interface Row {
  readonly key: string;
  readonly price: string;
}

/** Rows whose keys come again here and there, as they were or with another price. */
function repeatedRows(prefix: string, random: () => number): Row[] {
  const rows: Row[] = [];
  for (let index = 0; index < KEYS; index++) {
    const key = `${prefix}-${index}`;
    const copies = random() < 0.5 ? 1 : 2 + Math.floor(random() * 3);
    const price = () => (1 + Math.floor(random() * 900)).toFixed(2);
    const first = price();
    const identical = random() < 0.3;
    for (let copy = 0; copy < copies; copy++) rows.push({ key, price: identical ? first : price() });
  }
  return rows
    .map((row) => ({ row, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ row }) => row);
}

/** The price that must be in the store at last; undefined where every copy is rejected. */
function winnerOf(policy: Policy, prices: readonly string[]): number | undefined {
  if (new Set(prices).size === 1) return Number(prices[0]);
  switch (policy) {
    case 'reject':
      return undefined;
    case 'first':
      return Number(prices[0]);
    case 'last':
      return Number(prices.at(-1));
    default:
      return policy satisfies never;
  }
}

it.concurrent('the policy alone decides which of several rows wins, and jobs on one target take turns', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  const seed = seedOf(context);
  const random = seededRandom(seed);
  const rows = Object.fromEntries(POLICIES.map((policy) => [policy, repeatedRows(policy, random)]));
  const cities = ['Oslo', '', 'Bergen'];
  const contactRows = CONTACTS.flatMap((id) =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, (_, copy) => ({
      id,
      name: `Ann ${id}-${copy}`,
      city: cities[Math.floor(random() * cities.length)] ?? '',
      tag: `t${copy}`,
    })),
  );
  await using scene = await openScene({
    seed,
    catalog: '',
    store: { latencyMs: { min: 0, max: 25 }, contacts: CONTACTS },
  });
  const { store, workspace } = scene;
  for (const policy of POLICIES) {
    await workspace.write(
      `jobs/${policy}.yaml`,
      `import: products\nstore: main\nsource: { path: ${policy}.csv }\nmapping: plain\nduplicates: ${policy}\nsafety: { maxRejects: off }\n`,
    );
    const lines = (rows[policy] ?? []).map(({ key, price }) => `${key},About ${key},${price}`);
    await workspace.write(`${policy}.csv`, `url,title,price\n${lines.join('\n')}\n`);
  }
  await workspace.write('mappings/plain.yaml', PRODUCTS_MAPPING);
  await workspace.write('mappings/people.yaml', CONTACTS_MAPPING);
  await workspace.write(
    'jobs/merge.yaml',
    'import: contacts\nstore: main\nsource: { path: people.csv }\nmapping: people\nduplicates: merge\n',
  );
  const people = contactRows.map(({ id, name, city, tag }) => `${id},${name},${city},${tag}`);
  await workspace.write('people.csv', `id,name,city,tags\n${people.join('\n')}\n`);

  store.misbehave({ name: 'slow answer', does: delay(120), probability: 0.1 });
  store.misbehave({ does: errorAnswer(503), probability: 0.05, timesPerKey: 1 });
  store.misbehave({ does: resetAfter, probability: 0.05, timesPerKey: 1 });
  const ended = await Promise.all(
    [...POLICIES, 'merge'].map((job) => scene.storeferry('run', job, '--json')),
  );
  for (const { code, stderr } of ended) expect([0, 3], stderr).toContain(code);

  let wrong = 0;
  for (const policy of POLICIES) {
    for (const [key, copies] of Map.groupBy(rows[policy] ?? [], (row) => row.key)) {
      const wanted = winnerOf(
        policy,
        copies.map(({ price }) => price),
      );
      if (store.shop.byUrl(key)?.variants?.[0]?.price !== wanted) wrong++;
    }
  }
  for (const [id, copies] of Map.groupBy(contactRows, (row) => row.id)) {
    const stored = store.shop.contacts.get(id);
    const isRight =
      stored?.name === copies.at(-1)?.name &&
      (stored?.city ?? '') === (copies.findLast(({ city }) => city !== '')?.city ?? '') &&
      [...(stored?.tags ?? [])].sort().join() === copies.map(({ tag }) => tag).join();
    if (!isRight) wrong++;
  }
  const fired = { ...scene.fired(), 'keys repeated': KEYS * 2 };
  figure(context, { invariant: 4, seed, fired, measured: [none('wrong finals', wrong)] });
  const { maxOverlap } = store.figures();
  figure(context, { invariant: 3, seed, fired, measured: [atMost(1, 'overlap', maxOverlap)] });
  const overlap = spansOf(store.requests, ({ key, method }) =>
    method === 'POST' ? (key?.split('-')[0] ?? null) : null,
  );
  figure(context, {
    invariant: 28,
    seed,
    fired: { 'jobs started at once on one target': POLICIES.length },
    measured: [none('requests within the span of another run', overlap)],
  });
  figure(context, { invariant: 24, seed, fired, measured: [none('leaks', (await scene.leaks()).length)] });
});
