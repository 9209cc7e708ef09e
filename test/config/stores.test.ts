import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { baseUrlSchema } from '../../src/config/store-config.ts';
import { problemsOf, VARIABLES, workspace } from './support.ts';

const stores = (text: string) => workspace({ 'stores.yaml': text });
const KEY = `apiKey: \${STORE_API_KEY}`;

function baseUrl(url: string): string {
  return stores(`main: { baseUrl: '${url}', apiKey: "\${STORE_API_KEY}" }\n`).store('main').baseUrl;
}

describe('a store', () => {
  it('has defaults', () => {
    expect(workspace().store('main')).toEqual({
      name: 'main',
      baseUrl: 'https://shop.example',
      apiKey: 'key-marked-4711',
      weightUnit: 'kg',
      limits: { concurrency: 16, timeoutSeconds: 40 },
      history: { keep: 400 },
    });
  });

  it('takes limits from the file and from the environment', () => {
    const text = `main:
  baseUrl: http://localhost:8080/shop/
  ${KEY}
  weightUnit: \${UNIT:lb}
  limits: { concurrency: "\${CONCURRENCY}", requestsPerSecond: "\${RATE:0.5}" }
`;
    expect(
      workspace({ 'stores.yaml': text }, { ...VARIABLES, CONCURRENCY: '64' }).store('main'),
    ).toMatchObject({
      baseUrl: 'http://localhost:8080/shop',
      weightUnit: 'lb',
      limits: { concurrency: 64, requestsPerSecond: 0.5 },
    });
  });

  it('leaves out an optional limit that the environment leaves empty', () => {
    const text = `main:\n  baseUrl: https://x\n  ${KEY}\n  limits: { requestsPerSecond: "\${RATE:}" }\n`;
    expect(stores(text).store('main').limits).toEqual({ concurrency: 16, timeoutSeconds: 40 });
  });

  it('is one store however its address is written', () => {
    for (const url of ['https://Shop.Example', 'https://shop.example/', ' https://shop.example:443// ']) {
      expect(baseUrl(url)).toBe('https://shop.example');
    }
    expect(baseUrl('https://x.example/a/b//')).toBe('https://x.example/a/b');
  });

  it('gives the same address when its own is read again', () => {
    const address = fc
      .tuple(
        fc.constantFrom('http://', 'HTTPS://'),
        fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9]{0,9}(\.[a-z]{2,5})?(:[1-9]\d{0,3})?$/),
        fc.array(fc.constantFrom('/', 'shop', '%20', 'é', '.', ' ')),
      )
      .map(([scheme, host, path]) => `${scheme}${host}/${path.join('')}`);
    fc.assert(
      fc.property(address, (url) => {
        const once = baseUrlSchema.parse(url);
        expect(baseUrlSchema.parse(once)).toBe(once);
        expect(once.endsWith('/')).toBe(false);
      }),
    );
  });

  it.each([
    [
      'ftp://x.example',
      "expected an http or https address such as https://shop.example, found 'ftp://x.example'",
    ],
    ['shop.example', "expected an http or https address such as https://shop.example, found 'shop.example'"],
    ['https://', "expected an http or https address such as https://shop.example, found 'https://'"],
    ['https://me:geheim@x', 'the address must not contain a user name or password; put the key into apiKey'],
    ['https://x/?a=1', 'the address must not contain a query (?) or a fragment (#)'],
    ['https://x/api/site/', 'the address must not end in /api/site, which Storeferry adds itself'],
  ])('is refused with the address %s', (url, message) => {
    const text = `main:\n  baseUrl: ${url}\n  ${KEY}\n`;
    expect(problemsOf(() => stores(text).store('main'))).toEqual([
      `stores.yaml:2:12 main.baseUrl: ${message}`,
    ]);
  });

  it('has its key from the environment only', () => {
    const text =
      'main:\n  baseUrl: https://x\n  apiKey: sk_live_1\nother:\n  baseUrl: https://x\n  apiKey: 12345678\n';
    const refused = `apiKey: a secret must not be in a file; write \${STORE_API_KEY}, and set that in the environment or in .env`;
    expect(problemsOf(() => stores(text).store('main'))).toEqual([`stores.yaml:3:11 main.${refused}`]);
    expect(problemsOf(() => stores(text).store('other'))).toEqual([`stores.yaml:6:11 other.${refused}`]);
  });

  it('keeps a key of digits as text', () => {
    expect(workspace({}, { ...VARIABLES, STORE_API_KEY: '0012' }).store('main').apiKey).toBe('0012');
  });

  it('is refused with a key that no header can carry', () => {
    expect(problemsOf(() => workspace({}, { ...VARIABLES, STORE_API_KEY: 'a b\n' }).store('main'))).toEqual([
      'stores.yaml:3:11 main.apiKey: contains a space or another character that no key has',
    ]);
  });

  it('names everything that is wrong with it, each with its place', () => {
    const text = `main:
  baseURL: https://x
  ${KEY}
  weightUnit: lbs
  limits:
    conccurency: 4
    requestsPerSecond: 0
  concurrency: 4
`;
    expect(problemsOf(() => stores(text).store('main'))).toEqual([
      "stores.yaml:2:3 'main.baseUrl' is missing; expected text",
      "stores.yaml:4:15 main.weightUnit: expected kg, g, lb or oz, found 'lbs'; did you mean 'lb'?",
      'stores.yaml:7:24 main.limits.requestsPerSecond: expected a number above 0, found 0',
      "stores.yaml:6:5 unknown key 'conccurency'; did you mean 'concurrency'? (known: concurrency, requestsPerSecond, timeoutSeconds)",
      "stores.yaml:2:3 unknown key 'baseURL'; did you mean 'baseUrl'? (known: baseUrl, apiKey, weightUnit, currency, prices, limits, history, id)",
      "stores.yaml:8:3 unknown key 'concurrency'; it belongs under 'limits' (known: baseUrl, apiKey, weightUnit, currency, prices, limits, history, id)",
    ]);
  });

  it.each([
    ['main: sk_live_1\n', '1:7 main: expected a map, found something else'],
    ['main:\n', '1:6 main: expected a map, found nothing'],
    ['main:\n  baseUrl: https://x\n  apiKey:\n', '3:10 main.apiKey: expected text, found nothing'],
    [`main:\n  baseUrl:\n  ${KEY}\n`, '2:11 main.baseUrl: expected text, found nothing'],
    [`main:\n  baseUrl: [a]\n  ${KEY}\n`, '2:12 main.baseUrl: expected text, found a list'],
    [
      `main:\n  baseUrl: https://x\n  ${KEY}\n  limits: { concurrency: 1.5 }\n`,
      '4:26 main.limits.concurrency: expected a whole number, found 1.5',
    ],
    [
      `main:\n  baseUrl: https://x\n  ${KEY}\n  limits: { concurrency: "4" }\n`,
      "4:26 main.limits.concurrency: expected a number, found '4'",
    ],
    [
      `main:\n  baseUrl: https://x\n  ${KEY}\n  limits: { concurrency: 0 }\n`,
      '4:26 main.limits.concurrency: expected a number of at least 1, found 0',
    ],
  ])('says what was expected and what was found: %j', (text, message) => {
    expect(problemsOf(() => stores(text).store('main'))).toEqual([`stores.yaml:${message}`]);
  });

  it('needs what it names in the environment', () => {
    expect(
      problemsOf(() => workspace({}, { STORE_URL: 'https://x', STORE_API_KEY: '' }).store('main')),
    ).toEqual([
      'stores.yaml:3:11 the variable STORE_API_KEY is not set; set it in the environment or in .env',
    ]);
  });

  it('is not touched by what is wrong with another', () => {
    const text = `bad: { baseUrl: x }\nmain:\n  baseUrl: https://x\n  ${KEY}\nunset:\n  baseUrl: \${NOWHERE}\n  ${KEY}\n`;
    expect(stores(text).store('main').baseUrl).toBe('https://x');
    expect(problemsOf(() => stores(text).store('bad'))).toHaveLength(2);
    expect(problemsOf(() => stores(text).store('unset'))).toHaveLength(1);
  });

  it.each([
    ['', '1:1 the file is empty; expected a map of stores by name'],
    ['- a\n', '1:1 expected a map of stores by name'],
  ])('cannot be found in a file like %j', (text, message) => {
    expect(problemsOf(() => stores(text).store('main'))).toEqual([`stores.yaml:${message}`]);
  });
});
