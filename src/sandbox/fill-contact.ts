import type { ContactAnswer, ContactBody } from './contact-body.ts';

/**
 * The rule of storefront-api.md, section 4.2: only non-empty fields of the body are set; empty ones (`''`, `[]`,
 * `null`, absent) do not overwrite. `false` is not empty, and neither is a list that holds only the id 0.
 */
export function fillContact(stored: ContactAnswer, sent: ContactBody): ContactAnswer {
  return {
    ...stored,
    email: sent.email || stored.email,
    name: sent.name || stored.name,
    phone: sent.phone || stored.phone,
    note: sent.note || stored.note,
    address: sent.address || stored.address,
    city: sent.city || stored.city,
    state: sent.state || stored.state,
    zip: sent.zip || stored.zip,
    country: sent.country || stored.country,
    companyName: sent.companyName || stored.companyName,
    properties: sent.properties?.length ? sent.properties : stored.properties,
    tags: sent.tags?.length ? sent.tags : stored.tags,
    subscribed: sent.subscribed ?? stored.subscribed,
    subscriberLists: sent.subscriberLists?.length ? sent.subscriberLists : stored.subscriberLists,
  };
}
