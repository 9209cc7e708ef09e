import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { STYLESHEET_URL } from '../report/html/stylesheet.ts';

const CSS = 'text/css; charset=utf-8';
const JS = 'text/javascript; charset=utf-8';
const own = (name: string) => new URL(`public/${name}`, import.meta.url);

/** All there is: no other name leads to a file. */
const ASSETS = [
  { name: 'report.css', type: CSS, url: STYLESHEET_URL },
  { name: 'dashboard.css', type: CSS, url: own('dashboard.css') },
  { name: 'queues.css', type: CSS, url: own('queues.css') },
  { name: 'live.js', type: JS, url: own('live.js') },
  { name: 'icon.svg', type: 'image/svg+xml', url: own('icon.svg') },
] as const;

/** Serves stylesheets, script and icon, which the page for signing in needs too. Browsers ask whether they have changed. */
export async function serveAssets(app: FastifyInstance): Promise<void> {
  for (const { name, type, url } of ASSETS) {
    const content = await readFile(url);
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 20)}"`;
    app.get(`/assets/${name}`, { config: { who: 'anyone' } }, (request, reply) => {
      reply.headers({ etag, 'cache-control': 'no-cache' });
      return request.headers['if-none-match'] === etag
        ? reply.code(304).send()
        : reply.type(type).send(content);
    });
  }
}
