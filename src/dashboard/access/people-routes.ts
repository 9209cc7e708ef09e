import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { includesRole, ROLE_WORDS, ROLES } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import { notFoundError, PageError } from '../guard/page-error.ts';
import { accessTo } from '../pages/link-button.ts';
import { momentAndDistance, type Notice, readingOf, tableBox } from '../pages/page.ts';
import {
  type Choice,
  checkAttributes,
  field,
  formActions,
  note,
  postForm,
  select,
  submitButton,
} from '../pages/post-form.ts';
import { audit, type FormFields, type RouteParts, refusalOf } from '../route-parts.ts';
import { KEPT_NAME_CHECK } from './open-kept-list.ts';
import { MIN_PASSWORD } from './people.ts';
import type { Viewer } from './sessions.ts';
import { refuseExcess } from './sign-in.ts';

const PATH = '/people';
/** Limits guesses of the present password in a browser that was left open. */
const PASSWORDS = {
  max: 10,
  timeWindow: 5 * 60_000,
  keyGenerator: ({ viewer }: FastifyRequest) => viewer.who,
};
const ROLE_CHOICES = ROLES.map((role): Choice => [role, role]);

/** The people who sign in by name, and the sessions: all for those who may change them, else one's own. */
export function peopleRoutes(app: FastifyInstance, { dashboard, people, sessions }: RouteParts): void {
  const show = (
    { viewer }: FastifyRequest,
    reply: FastifyReply,
    notice: Notice | null = null,
  ): FastifyReply => {
    const mayEdit = includesRole(viewer.role, 'edit');
    const [own] = viewer.names;
    const known = people.list();
    const reading = readingOf(dashboard.context, viewer);
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
          inline('change', { name }, 'Change', viewer, {
            about: name,
            controls: select('role', ROLE_CHOICES, role, html` aria-label="Role of ${name}"`),
          }),
          password === undefined ? 'none: by the proxy' : 'set',
          inline('remove', { name }, 'Remove', viewer, { about: name, weight: 'danger' }),
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
      inline('end-session', { session: hash }, 'End', viewer, {
        about: `the session of ${who}`,
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
  /** A change by a form, which gives what the audit log names; or the page with the reason why not. */
  const change = (
    path: string,
    does: 'add-person' | 'change-person' | 'remove-person' | 'set-password',
    work: (fields: FormFields, request: FastifyRequest, reply: FastifyReply) => Promise<string>,
  ) => {
    app.post(`${PATH}${path}`, accessTo(does), async (request, reply) => {
      try {
        const about = await work(request.fields, request, reply);
        await audit(dashboard, request, { action: does, about });
        return reply.redirect(PATH, 303);
      } catch (error) {
        if (error instanceof UsageError) return show(request, reply, refusalOf(error, dashboard));
        throw error;
      }
    });
  };
  const roleIn = (written: string | undefined) => ROLES.find((one) => one === written) ?? 'view';

  app.get(PATH, (request, reply) => show(request, reply));

  change('', 'add-person', async ({ name = '', role, password = '' }) => {
    await people.add({ name, role: roleIn(role), password });
    return `${name} (${roleIn(role)})`;
  });
  change('/change', 'change-person', async ({ name = '', role }) => {
    await people.setRole(name, roleIn(role));
    return `${name} (${roleIn(role)})`;
  });
  change('/remove', 'remove-person', async ({ name = '' }) => {
    await people.remove(name);
    return name;
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
    return name;
  });

  app.post(`${PATH}/end-session`, accessTo('end-session'), async (request, reply) => {
    const { viewer } = request;
    const { session: hash = '' } = request.fields;
    const session = sessions.list().find((one) => one.hash === hash);
    const [own] = viewer.names;
    const isOwn = own !== undefined && session?.names[0] === own;
    if (session === undefined || !(isOwn || includesRole(viewer.role, 'edit')))
      throw new PageError(404, 'No such session', 'It has ended already.');
    sessions.revoke(hash);
    await audit(dashboard, request, { action: 'end-session', about: session.who });
    return reply.redirect(PATH, 303);
  });
}

interface InlineOptions {
  /** What screen readers hear after the label. */
  readonly about: string;
  readonly controls?: Slot;
  readonly weight?: 'danger';
}

function inline(
  path: string,
  fields: Readonly<Record<string, string>>,
  label: string,
  viewer: Viewer,
  { about, controls, weight }: InlineOptions,
): Markup {
  const body = html`${controls} ${submitButton(label, { weight: weight ?? '', about })}`;
  return postForm({ action: `${PATH}/${path}`, style: 'inline', fields, body }, viewer);
}

function passwordField(id: string, label: string, about: string, required: boolean): Markup {
  return field(
    id,
    label,
    html`<input id="${id}" name="password" type="password" autocomplete="new-password" minlength="${MIN_PASSWORD}" maxlength="200"${required && html` required`}>`,
    note(html`At least ${MIN_PASSWORD} characters. ${about}`),
  );
}

function addForm(viewer: Viewer): Markup {
  const body = html`<h2>Add a person</h2>
${field('new-name', 'Name', html`<input id="new-name" name="name"${checkAttributes(KEPT_NAME_CHECK)} autocomplete="off" placeholder="anna@shop.example">`)}
${field('new-role', 'May', select('role', ROLE_CHOICES, 'view', html` id="new-role"`))}
${passwordField('new-password', 'Password', 'Empty: the person signs in by the proxy alone.', false)}
${formActions('Add the person', PATH)}`;
  return postForm({ action: PATH, style: 'confirm', body }, viewer);
}

/** Sets the own password, or with a name field that of anybody. */
function passwordForm(viewer: Viewer, own: string | undefined): Markup {
  const who =
    own === undefined
      ? field('of', 'Name', html`<input id="of" name="name" required autocomplete="off">`)
      : field(
          'present',
          'Present password',
          html`<input id="present" name="present" type="password" autocomplete="current-password" required>`,
        );
  const body = html`<h2>${own === undefined ? 'Set a password' : 'Change your password'}</h2>
${who}
${passwordField('set-password', 'New password', 'All sessions of the person end.', true)}
${formActions('Set the password', PATH)}`;
  return postForm({ action: `${PATH}/password`, style: 'confirm', body }, viewer);
}
