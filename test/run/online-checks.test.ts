import { describe, expect, it } from 'vitest';
import type { StoreConfig } from '../../src/config/store-config.ts';
import { judgeRedis, runChecks } from '../../src/run/online/online-checks.ts';
import { judgeDisk } from '../../src/run/online/source-check.ts';
import { type AnsweredStores, judgeLikeness, judgeStore } from '../../src/run/online/store-check.ts';
import { judgeAnswer } from '../../src/storefront/probe-store.ts';

const STORE = { name: 'main', baseUrl: 'https://shop.example' };
const REST = {
  apiKey: 'the-key',
  weightUnit: 'kg',
  history: { keep: 400 },
  limits: { concurrency: 16, timeoutSeconds: 40 },
} as const;
const NOW = Date.parse('2026-03-01T00:00:00Z');
const never = new AbortController().signal;

describe('looks at the same time', () => {
  it('all give their findings, in their order, whatever the others find', async () => {
    const found = await runChecks(
      [
        { subject: 'slow', look: () => new Promise(() => {}) },
        { subject: 'broken', look: () => Promise.reject(new Error('no luck')) },
        { subject: 'fine', look: async () => [{ verdict: 'ok', message: 'as it should be' }] },
      ],
      never,
      50,
    );
    expect(found.map(({ subject, verdict, message }) => [subject, verdict, message])).toEqual([
      ['slow', 'error', 'no answer within 0.05 seconds'],
      ['broken', 'error', 'no luck'],
      ['fine', 'ok', 'as it should be'],
    ]);
  });

  it('reject when they are interrupted', async () => {
    const controller = new AbortController();
    const found = runChecks([{ subject: 'slow', look: () => new Promise(() => {}) }], controller.signal);
    controller.abort(new Error('interrupted'));
    await expect(found).rejects.toThrow('interrupted');
  });
});

describe('what an answer of a store says', () => {
  const answer = { status: 200, location: undefined, date: undefined, text: '[]', ms: 5 };
  const judge = (changes: Partial<typeof answer> | object) =>
    judgeStore(judgeAnswer({ ...answer, ...changes }, { apiKey: 'the-key', now: NOW }), STORE);

  it('warns of clocks that differ, and of nothing when they agree', () => {
    expect(judge({ date: 'Sun, 01 Mar 2026 00:00:30 GMT' })).toHaveLength(1);
    expect(judge({ date: 'Sun, 01 Mar 2026 01:00:00 GMT' })[1]).toMatchObject({
      verdict: 'warning',
      message: expect.stringContaining('differ by 3600 seconds'),
    });
  });

  it.each([
    ['https://www.shop.example/api/site/subscriber-lists', 'to https://www.shop.example,'],
    ['https://shop.example/store/api/site/subscriber-lists?x=1', 'to https://shop.example/store,'],
    ['/elsewhere', 'to the address that it redirects to,'],
  ])('names the address of the store that %s redirects to', (location, named) => {
    expect(judge({ status: 301, location, text: '' })[0]).toMatchObject({
      verdict: 'error',
      hint: expect.stringContaining(named),
    });
  });

  it('takes lists bare or in an envelope, and nothing else', () => {
    expect(judge({ text: '{"items":[{}],"totalCount":1}' })[0]?.message).toContain('1 subscriber list)');
    expect(judge({ text: '{"items":{}}' })[0]?.verdict).toBe('error');
    expect(judge({ text: '' })[0]?.message).toContain('with nothing');
  });

  it('never shows the key, whatever the store says', () => {
    const [found] = judge({ status: 403, text: '{"message":"unknown: the-key"}' });
    expect(found?.message).not.toContain('the-key');
  });

  it('is perhaps not the word of the store where a refusal of the key is a page', () => {
    const [found] = judge({ status: 403, text: '<html><title>Blocked</title>' });
    expect(found?.message).toContain(
      'refuses the key (403: a web page; a proxy in front of the store may have answered)',
    );
  });

  it.each([
    ['CERT_HAS_EXPIRED', 'its certificate has expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another name'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'this machine does not trust the authority'],
    ['UND_ERR_CONNECT_TIMEOUT', 'cannot be reached'],
    ['ECONNRESET', 'failed (ECONNRESET)'],
  ])('explains %s', (code, said) => {
    expect(judgeStore({ kind: 'unreachable', code }, STORE)[0]?.message).toContain(said);
  });

  it('is not the API when it nests without end', () => {
    const deep = `[{"id":${'['.repeat(50_000)}${']'.repeat(50_000)}}]`;
    const answer = { status: 200, location: undefined, date: undefined, text: deep, ms: 5 };
    expect(judgeAnswer(answer, { apiKey: 'the-key', now: NOW })).toEqual({
      kind: 'not-the-api',
      status: 200,
      what: 'JSON that nests more than 100 levels',
    });
  });
});

describe('stores that answer alike', () => {
  const lists = (changes: object = {}, first = 1) =>
    JSON.stringify(
      [first, 2].map((id) => ({ id, name: `List ${id}`, created: 7, subscribers: 1, ...changes })),
    );
  const stores = [
    { name: 'main', baseUrl: 'https://shop.example' },
    { name: 'second', baseUrl: 'https://www.shop.example' },
  ];
  const likeness = (texts: readonly string[], changes: readonly Partial<StoreConfig>[] = []) => {
    const answered: AnsweredStores = new Map();
    return stores.flatMap((store, index) => {
      const text = texts[index] ?? '';
      const probe = judgeAnswer(
        { status: 200, location: undefined, date: undefined, text, ms: 5 },
        { apiKey: 'the-key', now: NOW },
      );
      const config: StoreConfig = { ...store, ...REST, ...changes[index] };
      return judgeLikeness(probe, config, answered).map(({ message }) => message);
    });
  };

  it('are named, with what to do, whatever the figures of their lists', () => {
    expect(likeness([lists(), lists({ subscribers: 2, opens: 0.5 })])).toEqual([
      'second and main answer with the same subscriber lists: they may be one site with two addresses',
    ]);
  });

  it.each([
    ['other lists', [lists(), lists({}, 3)], []],
    ['lists of another date', [lists(), lists({ created: 8 })], []],
    ['no lists', ['[]', '[]'], []],
    ['lists without ids', ['[{}]', '[{}]'], []],
    ['one id', [lists(), lists()], [{ id: 'shop' }, { id: 'shop' }]],
    ['an id for each', [lists(), lists()], [{ id: 'shop' }, { id: 'outlet' }]],
    ['one address', [lists(), lists()], [{}, { baseUrl: 'http://SHOP.example' }]],
  ])('are not suspected with %s', (_name, texts, changes) => {
    expect(likeness(texts, changes)).toEqual([]);
  });
});

it('judges free space by what the largest source may take', () => {
  const gib = 1024 ** 3;
  expect(judgeDisk(10 * gib, 4 * gib, '/srv')).toMatchObject({ verdict: 'error' });
  expect(judgeDisk(10 * gib, gib, '/srv')).toMatchObject({ verdict: 'ok' });
  expect(judgeDisk(gib / 4, 0, '/srv')).toMatchObject({
    verdict: 'warning',
    message: '268.4 MB free at /srv',
  });
});

it.each([
  ['4.0.9', 'error'],
  ['5.0.14', 'warning'],
  ['6.2.0', 'ok'],
  ['7.0.15', 'ok'],
] as const)('judges Redis %s', (version, verdict) => {
  const verdicts = judgeRedis({ version, ms: 1, problems: [] }).map((finding) => finding.verdict);
  expect(verdicts.includes(verdict)).toBe(true);
  expect(verdicts.includes('error')).toBe(verdict === 'error');
});
