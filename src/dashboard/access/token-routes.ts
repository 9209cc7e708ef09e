import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { API_SCOPES, ROLE_WORDS } from '../../model/action.ts';
import { html, type Markup, styledText } from '../../report/html/markup.ts';
import { emptyBox, moment, type Notice, readingOf, tableBox } from '../pages/page.ts';
import { type Choice, checkAttributes, field, postForm, select, submitButton } from '../pages/post-form.ts';
import { audit, FOR_EDITORS, type RouteParts, refusalOf } from '../route-parts.ts';
import { MAX_TOKEN_DAYS, TOKEN_DAYS } from './api-tokens.ts';
import { KEPT_NAME_CHECK } from './open-kept-list.ts';

const PATH = '/tokens';

/** The page of the API tokens: made and revoked by visitors with full access. */
export function tokenRoutes(app: FastifyInstance, { dashboard, apiTokens }: RouteParts): void {
  const show = (
    { viewer }: FastifyRequest,
    reply: FastifyReply,
    { notice = null, made }: { readonly notice?: Notice | null; readonly made?: Markup } = {},
  ): FastifyReply => {
    const reading = readingOf(dashboard.context, viewer);
    const tokens = apiTokens.list();
    const revoke = (name: string) =>
      postForm(
        {
          action: `${PATH}/revoke`,
          style: 'inline',
          fields: { name },
          body: submitButton('Revoke', { weight: 'danger', about: name }),
        },
        viewer,
      );
    const make = html`<h2>New token</h2>
${field('name', 'Name', html`<input id="name" name="name"${checkAttributes(KEPT_NAME_CHECK)} placeholder="ci">`)}
${field(
  'scope',
  'May',
  select(
    'scope',
    API_SCOPES.map((scope): Choice => [scope, `${scope}: ${ROLE_WORDS[scope]}`]),
    'operate',
  ),
)}
${field('days', 'Days until it expires', html`<input id="days" name="days" type="number" min="1" max="${MAX_TOKEN_DAYS}" value="${TOKEN_DAYS}" required>`)}
${styledText('actions', submitButton('Make the token'))}`;
    return reply.sendPage(
      {
        title: 'API tokens',
        form: true,
        section: 'runs',
        notice,
        lead: html`Programs start and read runs over HTTP with a token: <code>Authorization: Bearer TOKEN</code>. What they can ask: <a href="/api/v1/openapi.json">the OpenAPI document</a>.`,
        body: html`${made}
${
  tokens.length === 0
    ? emptyBox('No tokens', html`<p>No program can use the API yet.</p>`)
    : tableBox({
        caption: 'API tokens',
        captionHidden: true,
        columns: ['Name', ['May', 'short'], 'Made', 'Expires', ['Action', 'bare']],
        rows: tokens.map(({ name, scope, madeAt, expiresAt }) => [
          name,
          scope,
          moment(madeAt, reading),
          html`${moment(expiresAt, reading)}${expiresAt <= dashboard.context.clock() && ' (expired)'}`,
          revoke(name),
        ]),
      })
}
${postForm({ action: PATH, style: 'confirm', body: make }, viewer)}`,
      },
      notice === null ? 200 : 422,
    );
  };
  const refusedAs = (error: unknown) => ({ notice: refusalOf(error, dashboard) });

  app.get(PATH, FOR_EDITORS, (request, reply) => show(request, reply));

  app.post(PATH, async (request, reply) => {
    const { name = '', scope, days } = request.fields;
    try {
      const known = API_SCOPES.find((one) => one === scope) ?? 'view';
      const by = request.viewer.names;
      const token = await apiTokens.make({ name, scope: known, days: Number(days), by });
      await audit(dashboard, request, { action: 'make-token', about: name });
      const made = html`<section class="notice" role="status"><h2>Token ${name}</h2><p><code>${token}</code></p><p>It is shown only now: the dashboard keeps its hash.</p></section>`;
      return show(request, reply, { made });
    } catch (error) {
      return show(request, reply, refusedAs(error));
    }
  });

  app.post(`${PATH}/revoke`, async (request, reply) => {
    const { name = '' } = request.fields;
    try {
      await apiTokens.revoke(name);
    } catch (error) {
      return show(request, reply, refusedAs(error));
    }
    await audit(dashboard, request, { action: 'revoke-token', about: name });
    return reply.redirect(PATH, 303);
  });
}
