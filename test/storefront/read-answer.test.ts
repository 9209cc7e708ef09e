import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanMessage } from '../../src/storefront/clean-message.ts';
import { readAnswer } from '../../src/storefront/exchange.ts';
import { expectDeleted, expectProduct } from '../../src/storefront/proof.ts';

const READER = { apiKey: 'k3y-of-the-store', now: Date.UTC(2024, 0, 1), expected: undefined };

function read(status: number, body: string, more: { retryAfter?: string; location?: string } = {}) {
  return readAnswer({ status, body, retryAfter: more.retryAfter, location: more.location }, READER);
}

describe('an answer', () => {
  it.each([200, 201, 202, 207, 299])('is success when it is %i with whole JSON', (status) => {
    expect(read(status, '{"id":7}')).toMatchObject({ kind: 'ok', value: { id: 7 } });
  });

  it.each([
    ['an empty object', '{}'],
    ['a list', '[]'],
    ['a success that says so', '{"success":true,"message":""}'],
    ['a byte order mark before it', '\ufeff{"id":7}'],
  ])('is success with %s', (_, body) => {
    expect(read(200, body).kind).toBe('ok');
  });

  it.each([
    ['nothing', '', 'answer-unreadable'],
    ['a page', '<!doctype html><p>Back soon</p>', 'answer-unreadable'],
    ['half an object', '{"id":7,"title":"Mu', 'answer-unreadable'],
    ['words after it', '{"id":7}\nDone.', 'answer-unreadable'],
    ['two objects', '{"id":7}{"id":8}', 'answer-unreadable'],
    ['success: false', '{"success":false,"message":"Not saved"}', 'answer-not-success'],
    ['success: "false"', '{"success":"false","message":"Not saved"}', 'answer-not-success'],
  ])('is no success with %s, but to be retried', (_, body, code) => {
    expect(read(200, body)).toMatchObject({ kind: 'failed', failure: { code, status: 200 } });
  });

  it.each([
    ['levels', `${'['.repeat(40_000)}${']'.repeat(40_000)}`],
    ['levels of objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['objects', `[${'{},'.repeat(1_000_000)}{}]`],
  ])('is not parsed where it is long and has too many %s', (_, body) => {
    expect(read(200, body)).toMatchObject({
      kind: 'failed',
      failure: {
        code: 'answer-unreadable',
        message: expect.stringContaining('JSON of more than 100 levels, or 1000000 objects and lists'),
      },
    });
    expect(read(422, body).kind).toBe('refused');
  });

  it.each([301, 302, 303, 304, 307, 308])(
    'is no success when it is a redirect (%i), and says where to',
    (status) => {
      const verdict = read(status, '{"id":7}', { location: 'https://other.example/?k=k3y-of-the-store' });
      expect(verdict).toMatchObject({
        kind: 'failed',
        failure: { code: 'store-redirect', mayHaveArrived: true },
      });
      expect(JSON.stringify(verdict)).toContain('other.example');
      expect(JSON.stringify(verdict)).not.toContain(READER.apiKey);
    },
  );

  it.each([400, 404, 405, 409, 410, 413, 418, 422, 451])(
    'is a refusal when it is %i, with the message',
    (status) => {
      expect(read(status, '{"success":false,"message":"Too dear"}')).toEqual({
        kind: 'refused',
        status,
        message: 'Too dear',
        isFromApi: true,
      });
    },
  );

  it.each([401, 403, 404, 422, 502])('is quoted when it is %i and not one of the API', (status) => {
    const page = `<html>\u0007<title>Blocked</title>\nkey ${READER.apiKey}</html>`;
    const said = `the store answered ${status}, but not in the format of its API; a proxy in front of the store may have answered; the answer begins: <html> <title>Blocked</title> key [API key]</html>`;
    expect(JSON.stringify(read(status, page))).toContain(JSON.stringify(said));
  });

  it('is quoted without people where the request was about one', () => {
    const expected = { prove: () => ({ id: null }), personalData: () => ['ada@example.com', 'Lovelace'] };
    const answer = { status: 422, retryAfter: undefined, location: undefined };
    for (const body of [
      '<p>ada@example.com or Lovelace or Grace Hopper is not known',
      '{"found":"Grace Hopper","mail":"ada@example.com"}',
    ]) {
      const said = JSON.stringify(readAnswer({ ...answer, body }, { ...READER, expected }));
      expect(said).toContain('the answer begins');
      expect(said).not.toMatch(/ada@|Lovelace|Hopper/);
    }
  });

  it('is a refusal without a message when the body is none', () => {
    expect(read(400, '')).toMatchObject({
      kind: 'refused',
      message: 'the store answered 400 without a message',
      isFromApi: false,
    });
    expect(read(400, '{"message":{"text":"x"}}')).toMatchObject({
      message: expect.stringContaining('without'),
    });
  });

  it.each([401, 403])('means a wrong key when it is %i', (status) => {
    expect(read(status, '{"success":false,"message":"Invalid"}')).toMatchObject({ kind: 'unauthorized' });
  });

  it('is about the record, and perhaps about the key, when a write is answered 403', () => {
    const write = { ...READER, expected: expectDeleted(7) };
    const answer = { status: 403, body: '', retryAfter: undefined, location: undefined };
    expect(readAnswer(answer, write)).toMatchObject({ kind: 'refused', status: 403 });
    expect(readAnswer({ ...answer, status: 401 }, write)).toMatchObject({ kind: 'unauthorized' });
  });

  it.each([
    [408, {}, true, false],
    [429, {}, false, false],
    [503, {}, true, false],
    [503, { retryAfter: '3' }, false, false],
    [503, { retryAfter: 'soon' }, true, false],
    [500, { retryAfter: '3' }, true, false],
    [502, {}, true, true],
    [504, {}, true, true],
    [524, {}, true, true],
  ])(
    'is to be retried when it is %i %j; it may have taken effect: %s, or be at work: %s',
    (status, more, mayHaveArrived, mayBeAtWork) => {
      expect(read(status, '{}', more)).toMatchObject({
        kind: 'failed',
        failure: { code: `store-${status}`, status, mayHaveArrived, mayBeAtWork },
      });
    },
  );

  it('is as late as it asks for', () => {
    expect(read(503, '{}', { retryAfter: '3' })).toMatchObject({ failure: { retryAfterMs: 3_000 } });
  });

  it('is shown as it begins, on one line and without the key, where it is not what was expected', () => {
    const body = `{"cached":\n"${READER.apiKey} ${'x'.repeat(500)}"}`;
    const expected = expectProduct('mug', '{"url":"mug","title":"Mug"}');
    const verdict = readAnswer(
      { status: 200, body, retryAfter: undefined, location: undefined },
      { ...READER, expected },
    );
    expect(verdict).toMatchObject({
      kind: 'failed',
      failure: { code: 'answer-unproved', mayHaveArrived: true },
    });
    const message = verdict.kind === 'failed' ? verdict.failure.message : '';
    expect(message).toContain(
      'not with the product that was sent, with an integer id; the answer begins: {"cached": "[API key] xxx',
    );
    expect(message.length).toBeLessThan(260);
  });

  it('is success for a 2xx with JSON alone, whatever arrives', () => {
    const bodies = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => json.slice(0, -1)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), bodies, (status, body) => {
        const { kind } = read(status, body);
        if (kind !== 'ok') return;
        expect(status).toBeLessThan(300);
        expect(() => JSON.parse(body)).not.toThrow();
      }),
    );
  });
});

const KEY = 'k3y-of-the-store';

describe('a message of a store', () => {
  it('is passed on as it is', () => {
    expect(cleanMessage('Preis muss größer als 0 sein — 日本語 👩‍🚀'.normalize(), KEY)).toContain(
      'Preis muss größer als 0 sein — 日本語',
    );
  });

  it.each([
    ['line breaks', 'one\r\ntwo\tthree', 'one two three'],
    ['terminal escapes', 'a\u001b[31mred\u0007', 'a [31mred'],
    ['marks that turn text around', 'abc\u202edcba\u2066', 'abcdcba'],
    ['our key', `key ${KEY} is bad, Bearer ${KEY}`, 'key [API key] is bad, Bearer [API key]'],
    ['our key with marks inside', `k3y\u200b-of-the\u200d-store`, '[API key]'],
  ])('loses %s', (_, text, clean) => {
    expect(cleanMessage(text, KEY)).toBe(clean);
  });

  it.each([
    ['as it is', (key: string) => key],
    ['percent-encoded', encodeURIComponent],
    ['as references of HTML', (key: string) => key.replaceAll('+', '&#43;').replaceAll('/', '&#x2F;')],
    ['in base64', (key: string) => Buffer.from(key).toString('base64')],
  ])('is cut after the key has been taken out: %s', (_, encode) => {
    const key = 'sk/live+0123456789/abcdefghij+KLMNOPQRST';
    for (let before = 230; before < 310; before += 1) {
      const clean = cleanMessage(`${'x'.repeat(before)} ${encode(key)} end`, key);
      expect(clean).not.toMatch(/sk|live|c2sv|0123/);
      expect(clean.length).toBeLessThanOrEqual(300);
    }
  });

  it('loses personal data in its first whole words, of which the shown ones are the first', () => {
    const page = `502 ${'word '.repeat(230)}`;
    for (const end of ['aGVsbG8x'.repeat(8_000), '👩'.repeat(30_000)]) {
      for (const text of [page + end, end, `x${end}`]) {
        const searched: string[] = [];
        const unnamed = (words: string) => {
          searched.push(words);
          return words;
        };
        expect(cleanMessage(text, KEY, { unnamed })).toMatch(/…$/);
        expect(searched).toHaveLength(1);
        expect(searched[0]?.length).toBeLessThanOrEqual(1_024);
        expect(searched[0]?.isWellFormed()).toBe(true);
        if (text.startsWith(page)) expect(searched[0]).toMatch(/ word$/);
        expect(cleanMessage(text, KEY).isWellFormed()).toBe(true);
      }
    }
  });

  it('is one line of bounded length without the key, whatever the store sends', () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: 'binary' }), fc.constant(KEY)))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (message) => {
        const clean = cleanMessage(message, KEY);
        expect(clean.length).toBeLessThanOrEqual(300);
        expect(clean).not.toContain(KEY);
        expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
    expect(cleanMessage('x'.repeat(1_000), KEY)).toHaveLength(300);
  });
});
