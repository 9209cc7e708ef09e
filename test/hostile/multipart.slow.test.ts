import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formOf } from '../dashboard/server/http-client.ts';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { seedOf } from '../support/seed.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { watchAnswers } from './hostile-jobs.ts';

/** `refusing.test.ts` of the dashboard keeps what is found. */
const RUNS = 120;
const MAX_BYTES = 200_000;

const count = fc.constantFrom(0, 1, 2, 7, 30, 2_000);
const boundary = fc.constantFrom('b', '-', '--', 'b'.repeat(70), 'a b', 'b\\"b', '\u00fc');
const name = fc.constantFrom(
  'csrfToken',
  'file',
  '',
  '__proto__',
  'constructor',
  'x'.repeat(5_000),
  'a"b',
  '\u0000',
);
const fileName = fc.constantFrom(
  'a.csv',
  '../../etc/passwd',
  '%22',
  '.',
  'x'.repeat(5_000),
  'a\u0000b',
  'CON',
);
const head = fc.oneof(
  name.map((text) => `content-disposition: form-data; name="${text}"`),
  fc
    .tuple(name, fileName)
    .map(
      ([text, file]) =>
        `content-disposition: form-data; name="${text}"; filename="${file}"\r\ncontent-type: text/csv`,
    ),
  fc
    .tuple(fileName, count)
    .map(([file, times]) => `content-disposition: form-data${`; filename*=utf-8''${file}`.repeat(times)}`),
  count.map((times) => 'content-transfer-encoding: base64\r\n'.repeat(times)),
  count.map((times) => `x: ${'y'.repeat(times)}`),
  count.map((times) => ' folded\r\n'.repeat(times)),
  fc.constantFrom('', ':', '\u0000', 'content-disposition', 'content-type: multipart/mixed; boundary=b'),
);
const ends = fc.constantFrom('\r\n', '\n', '\r', '');
const part = fc
  .tuple(head, ends, fc.constantFrom('', 'a\n1\n', 'TOKEN', '--b', '\r\n--', '\r\n--b\r\n'), ends, count)
  .map(([header, end, content, last, times]) => ({ text: `${header}${end}${end}${content}${last}`, times }));
const form = fc.record({
  boundary,
  declared: fc.option(boundary),
  hasToken: fc.boolean(),
  parts: fc.array(part, { maxLength: 4 }),
  close: fc.constantFrom('--\r\n', '--', '', '\r\n'),
  cut: fc.option(fc.nat({ max: 600 })),
});

it('a damaged form is taken or refused in plain words, and other pages are answered meanwhile', {
  timeout: patience(600_000),
}, async (context) => {
  await using workspace = await makeWorkspace({});
  const dashboard = await serveDashboard(workspace);
  const client = await dashboard.signedIn('full');
  const token = formOf(await client.get('/new'), '/new/upload').fields['csrfToken'] ?? '';
  const stop = watchAnswers(async () => (await client.get('/runs')).status === 200);
  const property = fc.asyncProperty(form, async (given) => {
    const mark = `--${given.boundary}`;
    const tokenPart = `${mark}\r\ncontent-disposition: form-data; name="csrfToken"\r\n\r\n${token}\r\n`;
    const parts = given.parts.map(({ text, times }) => {
      const one = `${mark}\r\n${text}`;
      return one.repeat(Math.min(times, Math.ceil(MAX_BYTES / one.length)));
    });
    const body = `${given.hasToken ? tokenPart : ''}${parts.join('')}${mark}${given.close}`;
    const sent = body.replaceAll('TOKEN', token).slice(0, given.cut ?? MAX_BYTES);
    const type = Buffer.from(`multipart/form-data; boundary="${given.declared ?? given.boundary}"`);
    const answer = await client
      .post('/new/upload', Buffer.from(sent), { 'content-type': type.toString('latin1') })
      // The connection may be closed before all of a refused form has been sent.
      .catch(() => null);
    if (answer === null) return;
    expect([303, 400, 403, 406, 413, 415, 422]).toContain(answer.status);
    expect(answer.words).not.toContain('This is a bug');
  });
  await fc.assert(property, { numRuns: RUNS, seed: seedOf(context) });
  const late = await stop();
  expect(dashboard.command.stderr()).not.toContain('"a bug"');
  figure(context, {
    invariant: 33,
    seed: seedOf(context),
    fired: { 'damaged forms': RUNS },
    measured: [none(`late or wrong answers ${late.join('; ')}`, late.length)],
  });
});
