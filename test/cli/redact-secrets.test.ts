import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workerLogger } from '../../src/cli/worker/worker-logger.ts';
import { secretRedactor } from '../../src/config/secret-redactor.ts';

function redactorOf(...secrets: readonly string[]) {
  const redactor = secretRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
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
