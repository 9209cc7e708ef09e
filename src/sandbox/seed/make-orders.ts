import type { ContactAnswer } from '../contact-body.ts';
import { type Random, seededRandom } from '../seeded-random.ts';
import { between, pick } from './pick.ts';

/** 1 March 2024, in seconds. */
const FIRST_ORDER = 1_709_251_200;
const GOODS = [
  { title: 'Tideline Mug', sku: 'MUG-TIDE-SLA', options: ['Slate'], price: 14.5 },
  { title: 'Tideline Mug', sku: 'MUG-TIDE-SAN', options: ['Sand'], price: 14.5 },
  { title: 'Fisherman’s Smock', sku: 'SMK-NAV-M', options: ['Navy', 'M'], price: 68 },
  { title: 'Driftwood Candle', sku: 'CND-DRIFT-220', options: ['220 g'], price: 19 },
  { title: 'Harbour Print, "Low Water"', sku: 'PRT-LOW-A3', options: ['A3'], price: 32 },
  { title: 'Gift wrap', sku: '', options: [], price: 2.25 },
];

/** Orders of the made-up contacts: always the same ones, ids rising with time, with nested fields and gaps. */
export function makeOrders(count: number, contacts: readonly ContactAnswer[]): Record<string, unknown>[] {
  const random = seededRandom(2024);
  return Array.from({ length: contacts.length === 0 ? 0 : count }, (_, index) =>
    makeOrder(random, index, pick(random, contacts)),
  );
}

function makeOrder(random: Random, index: number, buyer: ContactAnswer): Record<string, unknown> {
  const items = Array.from({ length: between(random, 1, 4) }, () => {
    const { price, ...good } = pick(random, GOODS);
    const quantity = between(random, 1, 3);
    return { ...good, quantity, price, total: money(price * quantity) };
  });
  const subtotal = items.reduce((sum, item) => sum + item.total, 0);
  const shipping = random() < 0.75 ? { method: 'Parcel', price: subtotal > 60 ? 0 : 4.95 } : null;
  return {
    id: 70_001 + index,
    number: `SF-${String(index + 1).padStart(5, '0')}`,
    createdOn: FIRST_ORDER + index * 5400 + between(random, 0, 5000),
    status: pick(random, ['new', 'packed', 'shipped', 'shipped', 'shipped', 'cancelled']),
    paymentStatus: pick(random, ['paid', 'paid', 'paid', 'refunded', 'pending']),
    currency: 'GBP',
    customer: { contactId: buyer.id, name: buyer.name, email: buyer.email },
    ...(shipping && {
      shippingAddress: { address: buyer.address, city: buyer.city, zip: buyer.zip, country: buyer.country },
    }),
    items,
    subtotal: money(subtotal),
    shipping,
    total: money(subtotal + (shipping?.price ?? 0)),
    ...(random() < 0.15 && { coupon: { code: 'WELCOME10', discount: money(subtotal * 0.1) } }),
    tags: random() < 0.2 ? ['gift'] : [],
    note: random() < 0.1 ? 'Please leave it with the neighbour,\nnumber 12.' : '',
  };
}

function money(amount: number): number {
  return Math.round(amount * 100) / 100;
}
