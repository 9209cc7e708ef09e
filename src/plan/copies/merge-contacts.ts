import {
  CONTACT_TEXT_FIELDS,
  type Contact,
  type ContactTextField,
  type MappedRecord,
  type Product,
} from '../../model/mapped-record.ts';

function isContact(body: Contact | Product): body is Contact {
  return !('variants' in body);
}

/**
 * One contact out of several rows about it. Of a text the last one given holds, as if the rows were sent one after
 * the other; tags, lists and custom properties come together; who unsubscribed in any copy stays unsubscribed, and joins
 * no list that the other rows name.
 */
export function mergeContacts(key: string, copies: readonly MappedRecord[]): MappedRecord {
  const bodies = copies.map(({ body }) => body).filter(isContact);
  const texts: Partial<Record<ContactTextField, string>> = {};
  for (const body of bodies) {
    for (const field of CONTACT_TEXT_FIELDS) {
      const text = body[field];
      if (text !== undefined) texts[field] = text;
    }
  }
  const properties = new Map(
    bodies.flatMap((body) => body.properties ?? []).map((property) => [property.name, property]),
  );
  const tags = new Set(bodies.flatMap((body) => body.tags ?? []));
  const subscribed = bodies.map((body) => body.subscribed).filter((given) => given !== undefined);
  const left = subscribed.includes(false);
  // Lists that were meant for a subscriber are not for somebody who has left.
  const listed = bodies.filter((body) => !left || body.subscribed === false);
  const lists = new Set(listed.flatMap((body) => body.subscriberLists ?? []));
  return {
    kind: 'record',
    key,
    body: {
      ...texts,
      ...(properties.size > 0 && { properties: [...properties.values()] }),
      ...(tags.size > 0 && { tags: [...tags] }),
      ...(subscribed.length > 0 && { subscribed: !left }),
      ...(lists.size > 0 && { subscriberLists: [...lists] }),
    },
    rows: copies.reduce((sum, copy) => sum + copy.rows, 0),
    spans: copies.flatMap((copy) => copy.spans),
    notes: copies.flatMap((copy) => copy.notes ?? []),
  };
}
