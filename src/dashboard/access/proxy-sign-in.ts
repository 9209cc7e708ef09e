import type { BlockList } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { audit } from '../audit.ts';
import { isListed } from '../dashboard-context.ts';
import type { RouteParts } from '../route-parts.ts';
import { type Person, signOf } from './people.ts';
import type { ProxySignIn } from './sessions.ts';

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
