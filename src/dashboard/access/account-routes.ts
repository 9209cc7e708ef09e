import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AuditedAction } from '../../model/action.ts';
import { API_SCOPES, includesRole, ROLE_WORDS, ROLES } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFoundError, PageError } from '../guard/page-error.ts';
import { accessTo, buttonRow } from '../pages/link-button.ts';
import { emptyBox, moment, momentAndDistance, type Notice, tableBox } from '../pages/page.ts';
import {
  type Choice,
  checkAttributes,
  field,
  formActions,
  input,
  namedChoices,
  note,
  postForm,
  select,
  submitButton,
} from '../pages/post-form.ts';
import { audit, FOR_EDITORS, type FormFields, type RouteParts, refusalOf } from '../route-parts.ts';
import { KEPT_NAME_CHECK, MAX_TOKEN_DAYS, MIN_PASSWORD, TOKEN_DAYS } from './accounts.ts';
import type { Viewer } from './sessions.ts';
import { refuseExcess } from './sign-in.ts';

const PEOPLE = '/people';
const TOKENS = '/tokens';
/** Limits guesses of the present password in a browser that was left open. */
const PASSWORDS = {
  max: 10,
  timeWindow: 5 * 60_000,
  keyGenerator: ({ viewer }: FastifyRequest) => viewer.who,
};
const ROLE_CHOICES = namedChoices(ROLES);

/** The pages of who has access: people with their sessions, and programs with their tokens. */
export function accountRoutes(app: FastifyInstance, parts: RouteParts): void {
  peopleRoutes(app, parts);
  tokenRoutes(app, parts);
}

/** A page of accounts: with the reason why nothing was done, or what was made. */
type Show = (request: FastifyRequest, reply: FastifyReply, notice: Notice | null, made: Slot) => FastifyReply;

/** What the audit log names of a change, and what is shown of it only now. */
interface Changed {
  readonly about: string;
  readonly made?: Markup;
}

/** Changes by the forms of a page, which is then shown again. */
function changesOf(app: FastifyInstance, dashboard: DashboardContext, page: string, show: Show) {
  return (
    path: string,
    action: AuditedAction['action'],
    work: (fields: FormFields, request: FastifyRequest, reply: FastifyReply) => Promise<Changed>,
  ) =>
    app.post(`${page}${path}`, accessTo(action), async (request, reply) => {
      try {
        const { about, made } = await work(request.fields, request, reply);
        await audit(dashboard, request, { action, about });
        return made === undefined ? reply.redirect(page, 303) : show(request, reply, null, made);
      } catch (error) {
        if (error instanceof UsageError) return show(request, reply, refusalOf(error, dashboard), '');
        throw error;
      }
    });
}

/** The people who sign in by name, and the sessions: all for those who may change them, else one's own. */
function peopleRoutes(app: FastifyInstance, { dashboard, people, sessions }: RouteParts) {
  const show = ({ viewer, reading }: FastifyRequest, reply: FastifyReply, notice: Notice | null) => {
    const mayEdit = includesRole(viewer.role, 'edit');
    const [own] = viewer.names;
    const known = people.list();
    const mine = sessions.list().filter(({ names }) => mayEdit || (own !== undefined && names[0] === own));
    const signedIn = mayEdit ? 'Who is signed in' : 'Where you are signed in';
    const lead = html`People sign in with a name and a password, each with a role. ${ROLES.map((role) => html`<b>${role}</b>: ${ROLE_WORDS[role]}. `)}`;
    const body = html`${
      mayEdit &&
      known.length > 0 &&
      tableBox({
        caption: 'People',
        captionHidden: true,
        columns: ['Name', ['May', 'bare'], 'Password', ['Action', 'bare']],
        rows: known.map(({ name, role, password }) => [
          name,
          inline(`${PEOPLE}/change`, { name }, viewer, {
            about: name,
            label: 'Change',
            controls: select('role', ROLE_CHOICES, role, { 'aria-label': `Role of ${name}` }),
          }),
          password === undefined ? 'none: by the proxy' : 'set',
          inline(`${PEOPLE}/remove`, { name }, viewer, { about: name, label: 'Remove', weight: 'danger' }),
        ]),
      })
    }
${
  mine.length > 0 &&
  html`<h2>${signedIn}</h2>${tableBox({
    caption: signedIn,
    captionHidden: true,
    columns: ['Who', ['From', 'short'], 'Since', 'Last seen', ['Action', 'bare']],
    rows: mine.map(({ who, address = '', byProxy, begunAt, seenAt, hash }) => [
      html`${who}${byProxy !== undefined && ' (by the proxy)'}`,
      address,
      momentAndDistance(begunAt, reading),
      momentAndDistance(seenAt, reading),
      inline(`${PEOPLE}/end-session`, { session: hash }, viewer, {
        about: `the session of ${who}`,
        label: 'End',
        weight: 'danger',
      }),
    ]),
  })}`
}
${mayEdit && addForm(viewer)}
${(mayEdit || own !== undefined) && passwordForm(viewer, mayEdit ? undefined : own)}`;
    return reply.sendPage(
      { title: 'People', section: 'runs', notice, form: true, lead, body },
      notice === null ? 200 : 422,
    );
  };
  const change = changesOf(app, dashboard, PEOPLE, show);
  const roleIn = (written: string | undefined) => ROLES.find((one) => one === written) ?? 'view';

  app.get(PEOPLE, (request, reply) => show(request, reply, null));

  change('', 'add-person', async ({ name = '', role, password = '' }) => {
    await people.add({ name, role: roleIn(role), password });
    return { about: `${name} (${roleIn(role)})` };
  });
  change('/change', 'change-person', async ({ name = '', role }) => {
    await people.setRole(name, roleIn(role));
    return { about: `${name} (${roleIn(role)})` };
  });
  change('/remove', 'remove-person', async ({ name = '' }) => {
    await people.remove(name);
    return { about: name };
  });
  const guesses = [app.createRateLimit(PASSWORDS)];
  change('/password', 'set-password', async (fields, request, reply) => {
    const { name: wanted, present = '', password = '' } = fields;
    const [own] = request.viewer.names;
    const mayEdit = includesRole(request.viewer.role, 'edit');
    const name = mayEdit ? wanted : own;
    if (name === undefined) throw notFoundError('The read-only token has no password.');
    if (!mayEdit) {
      await refuseExcess(guesses, request, reply, () => 'Try again in some minutes.');
      if ((await people.signIn(name, present)) === undefined)
        throw new UsageError('The present password is another one.');
    }
    if (password === '') throw new UsageError('A new password is needed.');
    await people.setPassword(name, password);
    return { about: name };
  });
  change('/end-session', 'end-session', async ({ session: hash = '' }, { viewer }) => {
    const session = sessions.list().find((one) => one.hash === hash);
    const [own] = viewer.names;
    const isOwn = own !== undefined && session?.names[0] === own;
    if (session === undefined || !(isOwn || includesRole(viewer.role, 'edit')))
      throw new PageError(404, 'No such session', 'It has ended already.');
    sessions.revoke(hash);
    return { about: session.who };
  });
}

interface InlineOptions {
  readonly label: string;
  /** What screen readers hear after the label. */
  readonly about: string;
  readonly controls?: Slot;
  readonly weight?: 'danger';
}

/** A form in a cell of a table. */
function inline(
  action: string,
  fields: Readonly<Record<string, string>>,
  viewer: Viewer,
  { label, about, controls, weight }: InlineOptions,
) {
  const body = html`${controls} ${submitButton(label, { weight: weight ?? '', about })}`;
  return postForm({ action, style: 'inline', fields, body }, viewer);
}

function passwordField(id: string, label: string, about: string, required: boolean) {
  const typed = {
    name: 'password',
    type: 'password',
    autocomplete: 'new-password',
    minlength: MIN_PASSWORD,
    maxlength: 200,
    required,
  };
  return field(id, label, input(id, typed), note(`At least ${MIN_PASSWORD} characters. ${about}`));
}

function addForm(viewer: Viewer) {
  const name = {
    name: 'name',
    ...checkAttributes(KEPT_NAME_CHECK),
    autocomplete: 'off',
    placeholder: 'anna@shop.example',
  };
  const body = html`<h2>Add a person</h2>
${field('new-name', 'Name', input('new-name', name))}
${field('new-role', 'May', select('role', ROLE_CHOICES, 'view', { id: 'new-role' }))}
${passwordField('new-password', 'Password', 'Empty: the person signs in by the proxy alone.', false)}
${formActions('Add the person', PEOPLE)}`;
  return postForm({ action: PEOPLE, style: 'confirm', body }, viewer);
}

/** Sets the own password, or with a name field that of anybody. */
function passwordForm(viewer: Viewer, own: string | undefined) {
  const present = { type: 'password', autocomplete: 'current-password', required: true };
  const who =
    own === undefined
      ? field('of', 'Name', input('of', { name: 'name', required: true, autocomplete: 'off' }))
      : field('present', 'Present password', input('present', present));
  const body = html`<h2>${own === undefined ? 'Set a password' : 'Change your password'}</h2>
${who}
${passwordField('set-password', 'New password', 'All sessions of the person end.', true)}
${formActions('Set the password', PEOPLE)}`;
  return postForm({ action: `${PEOPLE}/password`, style: 'confirm', body }, viewer);
}

/** The API tokens: made and revoked by visitors with full access. */
function tokenRoutes(app: FastifyInstance, { dashboard, apiTokens }: RouteParts) {
  const show = (
    { viewer, reading }: FastifyRequest,
    reply: FastifyReply,
    notice: Notice | null,
    made: Slot = '',
  ): FastifyReply => {
    const tokens = apiTokens.list();
    const scopes = API_SCOPES.map((scope): Choice => [scope, `${scope}: ${ROLE_WORDS[scope]}`]);
    const days = { type: 'number', min: 1, max: MAX_TOKEN_DAYS, value: TOKEN_DAYS, required: true };
    const make = html`<h2>New token</h2>
${field('name', 'Name', input('name', { ...checkAttributes(KEPT_NAME_CHECK), placeholder: 'ci' }))}
${field('scope', 'May', select('scope', scopes, 'operate'))}
${field('days', 'Days until it expires', input('days', days))}
${buttonRow(submitButton('Make the token'))}`;
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
    ? emptyBox('No tokens', 'No program can use the API yet.')
    : tableBox({
        caption: 'API tokens',
        captionHidden: true,
        columns: ['Name', ['May', 'short'], 'Made', 'Expires', ['Action', 'bare']],
        rows: tokens.map(({ name, scope, madeAt, expiresAt }) => [
          name,
          scope,
          moment(madeAt, reading),
          html`${moment(expiresAt, reading)}${expiresAt <= reading.now && ' (expired)'}`,
          inline(`${TOKENS}/revoke`, { name }, viewer, { about: name, label: 'Revoke', weight: 'danger' }),
        ]),
      })
}
${postForm({ action: TOKENS, style: 'confirm', body: make }, viewer)}`,
      },
      notice === null ? 200 : 422,
    );
  };
  const change = changesOf(app, dashboard, TOKENS, show);

  app.get(TOKENS, FOR_EDITORS, (request, reply) => show(request, reply, null));

  change('', 'make-token', async ({ name = '', scope, days }, request) => {
    const known = API_SCOPES.find((one) => one === scope) ?? 'view';
    const by = request.viewer.names;
    const token = await apiTokens.make({ name, scope: known, days: Number(days), by });
    const made = html`<section class="notice" role="status"><h2>Token ${name}</h2><p><code>${token}</code></p><p>It is shown only now: the dashboard keeps its hash.</p></section>`;
    return { about: name, made };
  });
  change('/revoke', 'revoke-token', async ({ name = '' }) => {
    await apiTokens.revoke(name);
    return { about: name };
  });
}
