import type { BlockList } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isTimezone } from '../../model/clock.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { formatDuration } from '../../text/printable.ts';
import { isListed } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import { accessTo } from '../pages/link-button.ts';
import { submitButton } from '../pages/post-form.ts';
import { audit, type RouteParts } from '../route-parts.ts';
import { type Accounts, type Person, signOf } from './accounts.ts';
import type { Identity, ProxySignIn } from './sessions.ts';
import { accessOf, hashToken, type Tokens } from './tokens.ts';

/**
 * Limits wrong tokens per address. A correct token is checked first and never limited, so nobody can lock out its
 * owner. Tokens are too long to be guessed.
 */
const ATTEMPTS = { max: 10, timeWindow: 5 * 60_000 };
/**
 * Limits wrong tokens over all addresses, because behind a proxy the address comes from a header. Signed-in visitors
 * are not affected.
 */
const ATTEMPTS_OF_ALL = { max: 20, timeWindow: 5 * 60_000, keyGenerator: () => 'all' };
/** Tokens are far shorter. */
const MAX_TOKEN_LENGTH = 200;
/**
 * Limits passwords, right or wrong, before they are compared: people choose some that can be guessed. Several people may
 * have the address of their proxy.
 */
const PASSWORDS = { max: 30, timeWindow: 5 * 60_000 };
/** Limits them for each name, known or not. Tokens and sessions go on working. */
const PASSWORDS_OF_NAME = {
  max: 10,
  timeWindow: 5 * 60_000,
  keyGenerator: (request: FastifyRequest) => hashToken(nameIn(request).toLowerCase()),
};

function nameIn({ fields }: FastifyRequest) {
  return fields['name']?.trim() ?? '';
}

/** Whose sessions begin with a hash: of a token, or of a person. */
export function identities(hashes: () => Tokens, people: Accounts['people']) {
  return (by: string): Identity | undefined => {
    const { full, readOnly } = hashes();
    if (by === full) return { who: 'full token', role: 'edit', names: [] };
    if (by === readOnly) return { who: 'read-only token', role: 'view', names: [] };
    const person = people.known().find((known) => signOf(known) === by);
    return person && { who: person.name, role: person.role, names: [person.name] };
  };
}

/** The sign-in form, and the button that signs out. */
export function signIn(app: FastifyInstance, parts: RouteParts): void {
  const { sessions, cookie, hashes, people, dashboard } = parts;
  const show = (reply: FastifyReply, next: string, wrong: string | null): FastifyReply =>
    reply.sendPage(
      {
        title: 'Sign in',
        form: true,
        notice: wrong === null ? null : { tone: 'bad', text: wrong },
        body: people.known().length === 0 ? tokenForm(next, true) : personForm(next),
      },
      wrong === null ? 200 : 401,
    );

  // Other requests from the address are not limited; only wrong tokens are, below.
  const open = { config: { role: 'anyone', rateLimit: false } } as const;
  app.get<{ Querystring: { next?: unknown } }>('/sign-in', open, (request, reply) => {
    const next = ownPath(request.query.next);
    return request.session === null ? show(reply, next, null) : reply.redirect(next, 303);
  });

  const counters = [app.createRateLimit(ATTEMPTS), app.createRateLimit(ATTEMPTS_OF_ALL)];
  const passwords = [app.createRateLimit(PASSWORDS), app.createRateLimit(PASSWORDS_OF_NAME)];
  const tryAgain = (ms: number) => `Try again in ${formatDuration(ms)}.`;
  app.post('/sign-in', open, async (request, reply) => {
    const { token = '', password = '', next, timezone = '' } = request.fields;
    const name = nameIn(request);
    const isNamed = name !== '' || password !== '';
    if (isNamed) await refuseExcess(passwords, request, reply, tryAgain);
    const person = isNamed ? await people.signIn(name, password) : undefined;
    const access = token.length > MAX_TOKEN_LENGTH ? 'none' : accessOf(token.trim(), hashes());
    const by = isNamed
      ? person && signOf(person)
      : access === 'none'
        ? undefined
        : hashes()[access === 'full' ? 'full' : 'readOnly'];
    if (by === undefined) {
      if (!isNamed) await refuseExcess(counters, request, reply, tryAgain);
      dashboard.log.warn(
        { address: request.ip },
        `sign-in with a wrong ${isNamed ? 'name or password' : 'token'}`,
      );
      return show(reply, ownPath(next), isNamed ? WRONG_PASSWORD : WRONG_TOKEN);
    }
    // An earlier session of this browser is not reused: it may belong to another person.
    if (request.session !== null) sessions.end(request.session.id);
    const session = sessions.begin({
      by,
      address: request.ip,
      timezone: isTimezone(timezone) ? timezone : undefined,
    });
    await audit(dashboard, { ip: request.ip, viewer: session }, { action: 'sign-in' });
    return cookie.set(request, reply, session).redirect(ownPath(next), 303);
  });

  app.post('/sign-out', accessTo('sign-out'), async (request, reply) => {
    await audit(dashboard, request, { action: 'sign-out' });
    if (request.session !== null) sessions.end(request.session.id);
    return cookie.clear(request, reply).redirect('/sign-in', 303);
  });
}

/** Counts a request without a valid token; PageError beyond a limit, with what this says of the milliseconds until it ends. */
export async function refuseExcess(
  counters: readonly ReturnType<FastifyInstance['createRateLimit']>[],
  request: FastifyRequest,
  reply: FastifyReply,
  words: (ms: number) => string,
): Promise<void> {
  for (const count of counters) {
    const attempts = await count(request);
    if (attempts.isAllowed || !attempts.isExceeded) continue;
    reply.header('retry-after', attempts.ttlInSeconds);
    throw new PageError(429, 'Too many attempts', words(attempts.ttl));
  }
}

/** Accepts only a path of this dashboard, so that the sign-in cannot redirect to another site. */
function ownPath(next: unknown) {
  const here = 'http://dashboard.invalid';
  if (typeof next !== 'string' || !next.startsWith('/') || !URL.canParse(next, here)) return '/';
  const { origin, pathname, search } = new URL(next, here);
  return origin === here && !pathname.startsWith('//') && pathname !== '/sign-in' ? pathname + search : '/';
}

const WRONG_TOKEN = 'Wrong token: it is neither the full nor the read-only one.';
const WRONG_PASSWORD = 'Wrong name or password.';

function form(next: string, fields: Markup) {
  return html`<form class="sign-in" method="post" action="/sign-in">
<input type="hidden" name="next" value="${next}">
<input type="hidden" name="timezone" data-browser-timezone>
${fields}
<p>${submitButton('Sign in')}</p>
</form>`;
}

function personForm(next: string) {
  const fields = html`<p><label for="name">Name</label>
<input id="name" name="name" autocomplete="username" required autofocus spellcheck="false" autocapitalize="none"></p>
<p><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required></p>`;
  return html`${form(next, fields)}
<details><summary>Sign in with a token</summary>${tokenForm(next, false)}</details>`;
}

function tokenForm(next: string, focused: boolean) {
  const fields = html`<p><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required${focused && html` autofocus`} spellcheck="false"></p>`;
  return html`${form(next, fields)}
<p class="hint">The dashboard printed two tokens at its first start. One has full access, the other is read-only. To make new tokens: <code>storeferry dashboard --new-token</code></p>`;
}

/** `header` names the person; undefined: there is no single sign-on. It is believed of connections from `proxies` alone. */
export function proxySignIn(
  { people, sessions, cookie, dashboard }: Pick<RouteParts, 'people' | 'sessions' | 'cookie' | 'dashboard'>,
  proxies: BlockList,
  header: string | undefined,
): ProxySignIn {
  const personOf = ({ raw, headers }: FastifyRequest): Person | undefined => {
    // The address of the connection, which no header can change.
    if (header === undefined || !isListed(proxies, raw.socket.remoteAddress ?? '')) return undefined;
    const name = headers[header];
    return typeof name === 'string' ? people.find(name) : undefined;
  };
  return {
    confirms: (request, { byProxy }) => byProxy === undefined || personOf(request)?.name === byProxy,
    async begin(request, reply) {
      const person = personOf(request);
      if (person === undefined) return null;
      const session = sessions.begin({ by: signOf(person), address: request.ip, byProxy: person.name });
      await audit(dashboard, { ip: request.ip, viewer: session }, { action: 'sign-in' });
      cookie.set(request, reply, session);
      return session;
    },
  };
}
