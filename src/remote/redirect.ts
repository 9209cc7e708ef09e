import { RemoteFailure } from './remote-failure.ts';

/** Whether a status sends elsewhere. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

/** Where a redirect leads: never to anything but the web, nor from an encrypted address to one in the clear. RemoteFailure. */
export function redirectedTo(location: string | null, from: URL): URL {
  const to = URL.canParse(location ?? '', from.href) ? new URL(location ?? '', from) : undefined;
  if (location === null || to === undefined) {
    throw new RemoteFailure('final', 'it redirects to no address');
  }
  if (to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')) return to;
  const where =
    to.protocol === 'http:' ? `http://${to.host}, without encryption` : `a ${to.protocol} address`;
  throw new RemoteFailure('final', `it redirects to ${where}, which is not followed`);
}
