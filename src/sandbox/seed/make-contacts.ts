import type { ContactAnswer } from '../contact-body.ts';
import { type Random, seededRandom } from '../seeded-random.ts';
import { COMPANIES, FIRST_NAMES, LAST_NAMES, STREETS, TOWNS } from './names.ts';
import { between, pick } from './pick.ts';
import { SEED_LISTS } from './seed-lists.ts';

const FIRST_ID = 1001;
/** 1 January 2023, in seconds. */
const SHOP_OPENED = 1_672_531_200;
const MAIL_HOSTS = ['postbox.example', 'mailhaven.example', 'northmail.example', 'quickpost.example'];
const TAGS = ['customer', 'wholesale', 'market-stall', 'gift-buyer', 'vip', 'lapsed'];

/**
 * Invented contacts, always the same ones, each with an e-mail address of its own. jobs/samples/contact-ids.csv
 * names them, so a change here changes that file.
 */
export function makeContacts(count: number): ContactAnswer[] {
  const random = seededRandom(2023);
  const takenEmails = new Set<string>();
  return Array.from({ length: count }, (_, index) => makeContact(random, FIRST_ID + index, takenEmails));
}

function makeContact(random: Random, id: number, takenEmails: Set<string>): ContactAnswer {
  const first = pick(random, FIRST_NAMES);
  const last = pick(random, LAST_NAMES);
  const town = pick(random, TOWNS);
  const subscribed = random() < 0.7;
  return {
    id,
    email: freeEmail(`${first}.${last}`, pick(random, MAIL_HOSTS), takenEmails),
    name: `${first} ${last}`,
    phone: random() < 0.8 ? `${town.phone}${between(random, 100, 199)}` : '',
    note: random() < 0.1 ? 'Prefers delivery after six.' : '',
    address: `${between(random, 1, 140)} ${pick(random, STREETS)}`,
    city: town.city,
    state: town.state,
    zip: town.zip,
    country: town.country,
    companyName: random() < 0.2 ? pick(random, COMPANIES) : '',
    createdOn: SHOP_OPENED + between(random, 0, 2 * 365 * 86_400),
    properties:
      random() < 0.3
        ? [{ name: 'Found us through', value: pick(random, ['Market', 'Friend', 'Search']) }]
        : [],
    tags: TAGS.filter(() => random() < 0.25),
    ...(random() < 0.4 && { memberId: 50_000 + id }),
    subscribed,
    subscriberLists: subscribed
      ? SEED_LISTS.map((list) => list.id).filter((list) => list === 0 || random() < 0.35)
      : [],
  };
}

function freeEmail(name: string, host: string, taken: Set<string>): string {
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
