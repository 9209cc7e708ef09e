import type { FastifyInstance } from 'fastify';
import { bullets, code, foreign, html } from '../../report/html/markup.ts';
import { FORGETS, forgetRecord, forgottenWords, REMAINS } from '../../run/records/forget-record.ts';
import { findRecords } from '../../run/records/record-history.ts';
import { notFoundError } from '../guard/page-error.ts';
import { historyHref } from '../pages/history-page.ts';
import { accessTo, FORGET_PATH } from '../pages/link-button.ts';
import type { Page } from '../pages/page.ts';
import { audit, type FormFields, type RouteParts } from '../route-parts.ts';
import { confirmationPage } from './confirmation.ts';

/** Removes what Storeferry has kept of a contact, after a confirmation. */
export function forgetRoutes(app: FastifyInstance, { dashboard, uploads }: RouteParts): void {
  const { context } = dashboard;
  const contactOf = async ({ store = '', key = '' }: FormFields) => {
    const found = await findRecords(context, [dashboard.openWorkspace().store(store)], key, 2);
    const contact = found.find((record) => record.target.resource === 'contacts' && record.key === key);
    if (contact === undefined) throw notFoundError('No contact has this key.');
    return contact;
  };

  app.get(FORGET_PATH, accessTo('forget'), async (request, reply) => {
    const contact = await contactOf(request.fields);
    const { store, key, title } = contact;
    const confirmation = {
      does: 'forget',
      to: key,
      title: `Forget contact ${key}?`,
      lead: html`Removes what Storeferry has kept of <b>${foreign(title ?? key)}</b>, contact ${code(foreign(key))} of the store <b>${store}</b>, for a request of erasure.`,
      warnings: ['This cannot be undone.'],
      effects: [...FORGETS, ...REMAINS.map((what) => html`Remains: ${what}.`)],
      address: FORGET_PATH,
      fields: { store, key },
      back: historyHref(contact),
    } as const;
    return reply.sendPage(confirmationPage(confirmation, request.viewer));
  });

  app.post(FORGET_PATH, async (request, reply) => {
    const contact = await contactOf(request.fields);
    const forgotten = await forgetRecord(context, contact);
    // They may have rows of the contact, and are sent again in a moment.
    await uploads.clear();
    await audit(dashboard, request, { action: 'forget' });
    const document: Page = {
      title: `Contact ${contact.key} is ${forgotten.erased ? 'forgotten' : 'not yet erased on disk'}`,
      section: 'records',
      body: html`${forgottenWords(forgotten).map((line) => html`<p>${line}</p>`)}
<h2>What remains</h2>
<p>To be removed by hand where the law asks for it:</p>
${bullets(REMAINS, 'does')}
<p class="actions"><a class="button" href="/records">Records</a></p>`,
    };
    return reply.sendPage(document);
  });
}
