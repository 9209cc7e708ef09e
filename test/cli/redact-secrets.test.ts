import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workerLogger } from '../../src/cli/worker/worker-logger.ts';
import { secretRedactor } from '../../src/text/mask-personal-data.ts';

function redactorOf(...secrets: readonly string[]) {
  const redactor = secretRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

function each(text: string, characters: RegExp, encode: (code: number, at: number) => string): string {
  return text.replaceAll(characters, (character, at: number) => encode(character.charCodeAt(0), at));
}

function hex(code: number): string {
  return code.toString(16).padStart(2, '0');
}

describe('a redactor of secrets', () => {
  const key = 'k"ey of\nthe+shop/π';
  const forms: readonly (readonly [string, string])[] = [
    ['plain', key],
    ['in JSON', JSON.stringify({ key })],
    ['in JSON within JSON', JSON.stringify({ text: JSON.stringify({ key }) })],
    ['percent-encoded', `?key=${encodeURIComponent(key)}`],
    [
      'percent-encoded in lower case',
      encodeURIComponent(key).replaceAll(/%\w\w/g, (code) => code.toLowerCase()),
    ],
    ['form-encoded', String(new URLSearchParams({ key }))],
  ];

  it.each(forms)('takes a secret out that is %s', (_, text) => {
    const redacted = redactorOf(key).redact(text);
    expect(redacted).toContain('[redacted]');
    expect(redacted).not.toMatch(/shop|the%2Bshop/i);
  });

  const escaped: readonly (readonly [string, (secret: string) => string])[] = [
    [
      'percent in mixed case',
      (text) => each(text, /[^\w]/g, (code, at) => `%${at % 2 ? hex(code) : hex(code).toUpperCase()}`),
    ],
    ['percent of every character', (text) => each(text, /./g, (code) => `%${hex(code)}`)],
    ['percent twice', (text) => encodeURIComponent(encodeURIComponent(text))],
    ['JSON of PHP', (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/')],
    ['decimal references of HTML', (text) => each(text, /[^\w]/g, (code) => `&#${code};`)],
    ['hexadecimal references of HTML', (text) => each(text, /[^\w]/g, (code) => `&#x${hex(code)};`)],
    [
      'named references of HTML',
      (text) => text.replaceAll('&', '&amp;').replaceAll('+', '&plus;').replaceAll('/', '&sol;'),
    ],
    ['references within percent', (text) => encodeURIComponent(each(text, /[^\w]/g, (code) => `&#${code};`))],
    ['\\u escapes', (text) => each(text, /./g, (code) => `\\u${hex(code).padStart(4, '0')}`)],
    ['\\x escapes in JSON', (text) => JSON.stringify(each(text, /./g, (code) => `\\x${hex(code)}`))],
    ['hexadecimal', (text) => Buffer.from(text).toString('hex')],
    ['hexadecimal in capitals', (text) => Buffer.from(text).toString('hex').toUpperCase()],
    ['capitals', (text) => text.toUpperCase()],
  ];

  it.each(escaped)('takes it out of text in %s', (_, encode) => {
    for (const secret of ['sk_live/aB3+cD4=eF5&gH6', 'a%2Fb\\/c&#43;d"e\'f']) {
      const text = `before ${encode(secret)} after, ${encode(secret)}.`;
      expect(redactorOf(secret).redact(text)).toMatch(
        /^"?before "?\[redacted\]"? after, "?\[redacted\]"?\."?$/,
      );
    }
  });

  it('takes it out of base64 that is escaped', () => {
    const base64 = Buffer.from('sk_live??>>/aB3+cD4').toString('base64');
    for (const text of [encodeURIComponent(base64), base64.replaceAll('/', '\\/')]) {
      expect(redactorOf('sk_live??>>/aB3+cD4').redact(text)).toMatch(/^\[redacted\].{0,8}$/);
    }
  });

  it('takes it out of any mixture of encodings, and nothing else', () => {
    const encodings = fc.constantFrom(
      encodeURIComponent,
      (text: string) => JSON.stringify(text).slice(1, -1),
      (text: string) => each(text, /[^\w]/g, (code) => `&#${code};`),
    );
    const secret = fc.string({ unit: 'grapheme', minLength: 8 }).filter((text) => text.trim().length >= 8);
    fc.assert(
      fc.property(secret, fc.array(encodings, { maxLength: 3 }), (key, chosen) => {
        const text = chosen.reduce((inner, encoding) => encoding(inner), key.toWellFormed());
        expect(redactorOf(key.toWellFormed()).redact(`<<${text}>>`)).toBe('<<[redacted]>>');
      }),
    );
  });

  it('takes it out of base64, whatever stands beside it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 12 }),
        fc.string(),
        fc.string(),
        fc.constantFrom('base64', 'base64url'),
        (secret, before, after, encoding) => {
          const text = Buffer.from(`${before}${secret}${after}`).toString(encoding);
          expect(redactorOf(secret).redact(`Basic ${text}`)).toContain('[redacted]');
        },
      ),
    );
  });

  it('takes an address out, its path alone, and the password in it', () => {
    const redactor = redactorOf(
      'https://hooks.example/services/T000/B000/longTokenHere',
      'redis://worker:p%40ssword1@db.example:6379/2',
    );
    expect(redactor.redact('POST /services/T000/B000/longTokenHere')).toBe('POST [redacted]');
    expect(redactor.redact('WRONGPASS p@ssword1')).toBe('WRONGPASS [redacted]');
    const basic = Buffer.from('worker:p@ssword1').toString('base64');
    expect(redactor.redact(`Authorization: Basic ${basic}`)).not.toContain(basic.slice(4, -4));
    expect(redactor.redact('hooks.example and db.example:6379')).toBe('hooks.example and db.example:6379');
  });

  it('leaves everything else as it is, and a secret too short to be one', () => {
    expect(redactorOf('abc').redact('abc is short')).toBe('abc is short');
    expect(secretRedactor().redact('nothing is known')).toBe('nothing is known');
    expect(redactorOf('s3cret-key').redact('a secret key of s3')).toBe('a secret key of s3');
  });

  it('learns of secrets as it goes', () => {
    const redactor = redactorOf('first-secret');
    expect(redactor.redact('first-secret, later-secret')).toBe('[redacted], later-secret');
    redactor.add('later-secret');
    expect(redactor.redact('first-secret, later-secret')).toBe('[redacted], [redacted]');
  });
});

it('the log of a worker is JSON without secrets, whatever part of a line they are in', () => {
  let written = '';
  const terminal = {
    out: () => {},
    data: () => {},
    err: (text: string) => {
      written += text;
    },
    interactive: false,
    colors: false,
    width: 80,
  };
  const key = 'key "with" quotes';
  const log = workerLogger(terminal, redactorOf(key));
  log.error(
    { reason: `refused ${key}`, [key]: 1, nested: { list: [key] } },
    `it said ${JSON.stringify(key)}`,
  );
  expect(JSON.parse(written)).toMatchObject({
    reason: 'refused [redacted]',
    '[redacted]': 1,
    nested: { list: ['[redacted]'] },
    msg: 'it said "[redacted]"',
  });
});
