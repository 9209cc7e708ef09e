import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isTimezone } from '../../model/clock.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { formatDuration } from '../../text/printable.ts';
import { audit } from '../audit.ts';
import { PageError } from '../guard/page-error.ts';
import { submitButton } from '../pages/post-form.ts';
import { formFields, type RouteParts } from '../route-parts.ts';
import { accessOf } from './tokens.ts';

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

/** The sign-in form, and the button that signs out. */
export function signIn(app: FastifyInstance, parts: RouteParts): void {
  const { sessions, cookieName, addresses, hashes, dashboard } = parts;
  const cookie = ({ headers }: FastifyRequest) => ({
    httpOnly: true,
    sameSite: 'strict' as const,
    secure: addresses.isSecure(headers.host ?? ''),
    path: '/',
  });
  const show = (reply: FastifyReply, next: string, wrong: boolean): FastifyReply =>
    reply.sendPage(
      {
        title: 'Sign in',
        form: true,
        notice: wrong
          ? { tone: 'bad', text: 'Wrong token: it is neither the full nor the read-only one.' }
          : null,
        body: form(next),
      },
      wrong ? 401 : 200,
    );

  // Other requests from the address are not limited; only wrong tokens are, below.
  const open = { config: { who: 'anyone', rateLimit: false } } as const;
  app.get<{ Querystring: { next?: unknown } }>('/sign-in', open, (request, reply) => {
    const next = ownPath(request.query.next);
    return request.session === null ? show(reply, next, false) : reply.redirect(next, 303);
  });

  const counters = [app.createRateLimit(ATTEMPTS), app.createRateLimit(ATTEMPTS_OF_ALL)];
  app.post('/sign-in', open, async (request, reply) => {
    const { token = '', next, timezone = '' } = formFields(request.body);
    const access = token.length > MAX_TOKEN_LENGTH ? 'none' : accessOf(token.trim(), hashes());
    if (access === 'none') {
      await refuseExcess(counters, request, reply, (ms) => `Try again in ${formatDuration(ms)}.`);
      dashboard.log.warn({ address: request.ip }, 'sign-in with a wrong token');
      return show(reply, ownPath(next), true);
    }
    // An earlier session of this browser is not reused: it may belong to another person.
    if (request.session !== null) sessions.end(request.session.id);
    const session = sessions.begin(access === 'full', isTimezone(timezone) ? timezone : undefined);
    await audit(dashboard, { ip: request.ip, viewer: session }, { action: 'sign-in' });
    return reply.setCookie(cookieName, session.id, cookie(request)).redirect(ownPath(next), 303);
  });

  app.post('/sign-out', { config: { who: 'viewers' } }, async (request, reply) => {
    await audit(dashboard, request, { action: 'sign-out' });
    if (request.session !== null) sessions.end(request.session.id);
    return reply.clearCookie(cookieName, cookie(request)).redirect('/sign-in', 303);
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
function ownPath(next: unknown): string {
  const here = 'http://dashboard.invalid';
  if (typeof next !== 'string' || !next.startsWith('/') || !URL.canParse(next, here)) return '/';
  const { origin, pathname, search } = new URL(next, here);
  return origin === here && !pathname.startsWith('//') && pathname !== '/sign-in' ? pathname + search : '/';
}

function form(next: string): Markup {
  return html`<form class="sign-in" method="post" action="/sign-in">
<input type="hidden" name="next" value="${next}">
<input type="hidden" name="timezone" data-browser-timezone>
<p><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false"></p>
<p>${submitButton('Sign in')}</p>
</form>
<p class="hint">The dashboard printed two tokens at its first start. One has full access, the other is read-only. To make new tokens: <code>storeferry dashboard --new-token</code></p>`;
}
