import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseHTML } from 'linkedom';

/** An answer, with its page to look into. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The words of the page, without markup. */
  readonly words: string;
  readonly document: ReturnType<typeof parseHTML>['document'];
}

/** A form of a page, as a browser would send it. */
export interface Form {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** What a browser does, and what it would never do: it keeps cookies, says where forms come from, and sends any header. */
export interface HttpClient {
  readonly origin: string;
  cookie: string | undefined;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  post(
    path: string,
    body: Readonly<Record<string, string>> | Buffer,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** Any other method. */
  send(method: string, path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Sends the form that leads to an address, perhaps with other fields, and follows where that leads. */
  submit(page: Answer, action: string, fields?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Asks where a redirect leads, if it is one, until something has been started. */
  follow(answer: Answer): Promise<Answer>;
}

/** A client without a session; it reaches the dashboard at its address. */
export function httpClient(url: string): HttpClient {
  const { origin, hostname, port } = new URL(url);
  let cookie: string | undefined;

  const send = async (
    method: string,
    path: string,
    body: Buffer | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> =>
    await new Promise((resolve, reject) => {
      const outgoing = request({
        ...{ hostname, port, method, path, agent: false },
        headers: {
          accept: 'text/html,*/*',
          ...(cookie === undefined ? {} : { cookie }),
          ...(body === undefined ? {} : { 'content-length': String(body.length) }),
          ...headers,
        },
      });
      outgoing.once('error', reject);
      outgoing.once('response', (incoming) => {
        for (const line of incoming.headers['set-cookie'] ?? []) cookie = line.split(';', 1)[0];
        text(incoming).then((content) => {
          const { document } = parseHTML(content);
          const words = (document.querySelector('main')?.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: content,
            words,
            document,
          });
        }, reject);
      });
      outgoing.end(body);
    });

  const client: HttpClient = {
    origin,
    get cookie() {
      return cookie;
    },
    set cookie(value) {
      cookie = value;
    },
    send: (method, path, headers = {}) => send(method, path, undefined, headers),
    get: (path, headers = {}) => send('GET', path, undefined, headers),
    post(path, body, headers = {}) {
      const encoded = Buffer.isBuffer(body) ? body : Buffer.from(new URLSearchParams(body).toString());
      return send('POST', path, encoded, {
        origin,
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      });
    },
    async submit(page, action, fields = {}) {
      const form = formOf(page, action);
      return await client.follow(await client.post(form.action, { ...form.fields, ...fields }));
    },
    async follow(answer) {
      const { location } = answer.headers;
      if (answer.status !== 303 || location === undefined) return answer;
      let next = await client.get(location);
      // What is still being started says that it is to be looked at again.
      while (next.headers['refresh'] !== undefined) {
        await sleep(100);
        next = await client.get(location);
      }
      return await client.follow(next);
    },
  };
  return client;
}

/** The form of a page that leads to an address. */
export function formOf({ document, words }: Answer, action: string): Form {
  const form = document.querySelector(`form[action="${action}"]`);
  if (form === null) throw new Error(`The page has no form to ${action}: ${words}`);
  const inputs = [...form.querySelectorAll('input[name]')];
  return {
    action,
    fields: Object.fromEntries(
      inputs
        .filter((input) => input.getAttribute('type') !== 'file')
        .filter((input) => input.getAttribute('type') !== 'radio' || input.hasAttribute('checked'))
        .map((input) => [input.getAttribute('name') ?? '', input.getAttribute('value') ?? '']),
    ),
  };
}

/** The body of a form with a file, and its type. */
export function multipart(
  fields: Readonly<Record<string, string>>,
  file: { readonly name: string; readonly content: string | Buffer } | null,
): { readonly body: Buffer; readonly type: string } {
  const boundary = 'storeferry-test-boundary';
  const parts = Object.entries(fields).map(([name, value]) =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`),
  );
  if (file !== null) {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${file.name}"\r\ncontent-type: text/csv\r\n\r\n`;
    parts.push(Buffer.from(head), Buffer.from(file.content), Buffer.from('\r\n'));
  }
  return {
    body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}
