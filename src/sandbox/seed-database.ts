import type { DatabaseSync } from 'node:sqlite';
import { sumOf } from '../model/json-object.ts';
import type { ContactAnswer } from './contact-routes.ts';
import seeds from './seeds.json' with { type: 'json' };

/** How much a new sandbox holds before anything is sent to it. */
export interface SeedSize {
  readonly contacts: number;
  readonly orders: number;
}

/** Fills a new database with contacts, lists and orders; the store starts without products. */
export function seedDatabase(database: DatabaseSync, size: SeedSize): void {
  const insertContact = database.prepare('INSERT INTO contacts (id, body) VALUES (?, ?)');
  const insertList = database.prepare(
    'INSERT INTO lists (id, name, created, opens, clicks) VALUES (?, ?, ?, ?, ?)',
  );
  const insertOrder = database.prepare('INSERT INTO orders (body) VALUES (?)');

  const contacts = makeContacts(size.contacts);
  for (const contact of contacts) insertContact.run(contact.id, JSON.stringify(contact));
  for (const { id, name, created, opens, clicks } of seeds.lists)
    insertList.run(id, name, created, opens, clicks);
  for (const order of makeOrders(size.orders, contacts)) insertOrder.run(JSON.stringify(order));
}

const FIRST_ID = 1001;

/**
 * Names to make people up from. The pairings are left to chance: any likeness is accidental. Phone numbers of towns come from ranges that
 * regulators keep for fiction.
 */
const [FIRST_NAMES, LAST_NAMES] = [seeds.firstNames.split(' '), seeds.lastNames.split(' ')];

/** 1 January 2023, in seconds. */
const SHOP_OPENED = 1_672_531_200;

/**
 * Invented contacts, always the same ones, each with an e-mail address of its own. jobs/samples/contact-ids.csv
 * names them, so a change here changes that file.
 */
function makeContacts(count: number): ContactAnswer[] {
  const random = seededRandom(2023);
  const takenEmails = new Set<string>();
  return Array.from({ length: count }, (_, index) => makeContact(random, FIRST_ID + index, takenEmails));
}

function makeContact(random: Random, id: number, takenEmails: Set<string>): ContactAnswer {
  const first = pick(random, FIRST_NAMES);
  const last = pick(random, LAST_NAMES);
  const town = pick(random, seeds.towns);
  const subscribed = random() < 0.7;
  return {
    id,
    email: freeEmail(`${first}.${last}`, pick(random, seeds.mailHosts), takenEmails),
    name: `${first} ${last}`,
    phone: random() < 0.8 ? `${town.phone}${between(random, 100, 199)}` : '',
    note: random() < 0.1 ? 'Prefers delivery after six.' : '',
    address: `${between(random, 1, 140)} ${pick(random, seeds.streets)}`,
    city: town.city,
    state: town.state,
    zip: town.zip,
    country: town.country,
    companyName: random() < 0.2 ? pick(random, seeds.companies) : '',
    createdOn: SHOP_OPENED + between(random, 0, 2 * 365 * 86_400),
    properties:
      random() < 0.3
        ? [{ name: 'Found us through', value: pick(random, ['Market', 'Friend', 'Search']) }]
        : [],
    tags: seeds.tags.filter(() => random() < 0.25),
    ...(random() < 0.4 && { memberId: 50_000 + id }),
    subscribed,
    subscriberLists: subscribed
      ? seeds.lists.map((list) => list.id).filter((list) => list === 0 || random() < 0.35)
      : [],
  };
}

function freeEmail(name: string, host: string, taken: Set<string>) {
  const local = name
    .toLowerCase()
    .replaceAll('ø', 'o')
    .replaceAll('ı', 'i')
    .normalize('NFD')
    .replace(/[^a-z.]/g, '');
  let email = `${local}@${host}`;
  for (let number = 2; taken.has(email); number += 1) email = `${local}${number}@${host}`;
  taken.add(email);
  return email;
}

/** 1 March 2024, in seconds. */
const FIRST_ORDER = 1_709_251_200;

/**
 * Orders of the made-up contacts in the shape of the API document: always the same ones, ids rising with time, with nested
 * fields and gaps.
 */
function makeOrders(count: number, contacts: readonly ContactAnswer[]): Record<string, unknown>[] {
  const random = seededRandom(2024);
  return Array.from({ length: contacts.length === 0 ? 0 : count }, (_, index) =>
    makeOrder(random, index, pick(random, contacts)),
  );
}

function makeOrder(random: Random, index: number, buyer: ContactAnswer): Record<string, unknown> {
  const id = 70_001 + index;
  const items = Array.from({ length: between(random, 1, 4) }, (_, line) => {
    const { price, weight, ...good } = pick(random, seeds.goods);
    const quantity = between(random, 1, 3);
    const url =
      good.title
        .toLowerCase()
        .match(/[a-z]+/g)
        ?.join('-') ?? '';
    return {
      id: id * 10 + line,
      name: good.title,
      url,
      productId: 100 + seeds.goods.findIndex(({ title }) => title === good.title),
      sku: good.sku,
      quantity,
      weight,
      total: twoDecimals(price * quantity),
      type: 'physical',
      shippingRequired: weight > 0,
      images: [`https://images.example/${url}.jpg`],
      variation: good.variation,
      additions: [],
    };
  });
  const subTotal = twoDecimals(sumOf(items, (item) => item.total));
  const shippingAmount = random() < 0.75 && subTotal <= 60 ? 4.95 : 0;
  const discountAmount = random() < 0.15 ? twoDecimals(subTotal * 0.1) : 0;
  const created = FIRST_ORDER + index * 5400 + between(random, 0, 5000);
  const address = {
    name: buyer.name,
    phone: buyer.phone,
    companyName: buyer.companyName,
    companyId: '',
    vatId: '',
    country: buyer.country,
    state: buyer.state,
    city: buyer.city,
    zipCode: buyer.zip,
    address: buyer.address,
    address2: '',
  };
  return {
    id,
    contactId: buyer.id,
    memberId: buyer.memberId ?? null,
    token: `order-${id}`,
    invoiceNo: `SF-${String(index + 1).padStart(5, '0')}`,
    created,
    createdTimeFormatted: new Date(created * 1_000).toISOString().slice(0, 16).replace('T', ' '),
    customerName: buyer.name,
    customerEmail: buyer.email,
    billingAddress: address,
    shippingAddress: random() < 0.75 ? address : null,
    shippingRequired: items.some(({ shippingRequired }) => shippingRequired),
    weight: twoDecimals(sumOf(items, ({ weight, quantity }) => weight * quantity)),
    weightUnit: 'kg',
    subTotal,
    total: twoDecimals(subTotal + shippingAmount - discountAmount),
    discountCode: discountAmount > 0 ? 'WELCOME10' : '',
    discountType: discountAmount > 0 ? 'percentage' : '',
    discountAmount,
    transactionId: `tx-${id}`,
    shippingAmount,
    shippingName: shippingAmount > 0 ? 'Parcel' : '',
    paid: random() < 0.8,
    paymentMethod: pick(random, ['card', 'card', 'transfer']),
    status: pick(random, ['pending', 'shipped', 'shipped', 'completed', 'completed', 'canceled', 'archived']),
    taxes: [],
    items,
    tags: random() < 0.2 ? ['gift'] : [],
    additionalFields: {},
    currency: 'GBP',
    fulfillment: {},
    notes: random() < 0.1 ? ['Please leave it with the neighbour,\nnumber 12.'] : [],
  };
}

function twoDecimals(amount: number) {
  return Math.round(amount * 100) / 100;
}

/** Gives numbers from 0 up to, not including, 1. */
export type Random = () => number;

/** A repeatable source of random numbers (mulberry32): the same seed gives the same sequence on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of the choices, by chance; there must be at least one. */
function pick<Choice>(random: Random, choices: readonly Choice[]): Choice {
  const choice = choices[Math.floor(random() * choices.length)];
  if (choice === undefined) throw new RangeError('nothing to pick from');
  return choice;
}

/** A whole number from `least` to `most`, both possible. */
function between(random: Random, least: number, most: number) {
  return least + Math.floor(random() * (most - least + 1));
}
