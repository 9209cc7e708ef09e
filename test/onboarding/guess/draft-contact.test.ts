import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../../src/mapping/compile-mapping.ts';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, table } from '../../mapping/mapping-setup.ts';

type Answers = Readonly<Record<string, string>>;

/** What is asked of a table in CSV with semicolons below the header of e-mail addresses; else whether each contact gets e-mails. */
async function subscribed(text: string, answers: Answers = {}) {
  const [header = [], ...rows] = text
    .split('\n')
    .map((line, row) => [row === 0 ? 'Email' : `a${row}@x.example`, ...line.split(';')]);
  const { spec, questions } = proposeMapping('contacts', { header, rows }, answers);
  if (spec === null) return questions.map(({ id }) => id);
  if (spec.import !== 'contacts') throw new Error('no contacts');
  expect(checkMapping(spec)).toEqual([]);
  const contact = { ...spec.contact, id: { const: 7 } };
  const { mapped } = await mapAll({ ...spec, contact }, [table(header, rows)]);
  return mapped.map((one) => {
    if (one.kind !== 'record') return one.kind;
    return 'subscribed' in one.body ? one.body.subscribed : null;
  });
}

describe('a consent that another column takes back', () => {
  it.each([
    ['Double opt-in', 'yes', 'no'],
    ['Confirmed at', '2024-01-02', ''],
    ['Newsletter bestätigt', 'ja', 'nein'],
    ['Email valid', 'yes', 'no'],
    ['Bounces', '0', '3'],
    ['Hard bounce', '', '2024-01-02'],
    ['Do not contact', 'no', 'yes'],
    ['GDPR consent withdrawn', '', '2024-01-02'],
    ['Werbesperre', 'nein', 'ja'],
    ['Deceased', '-', 'x'],
    ['State of mail', 'ok', 'cleaned'],
  ])('by %s is asked about, and counts or not, as the answer says', async (header, agreeing, refusing) => {
    const text = `Newsletter;${header}\nyes;${agreeing}\nyes;${refusing}\nno;${agreeing}`;
    const id = `unused.${header}`;
    expect(await subscribed(text)).toEqual([id]);
    expect(await subscribed(text, { [id]: 'leave-out' })).toEqual([true, true, false]);
    expect(await subscribed(text, { [id]: 'unsubscribed' })).toEqual([true, false, false]);
    const agreed = `Newsletter;${header}\nyes;${agreeing}\nno;${refusing}`;
    expect(await subscribed(agreed)).toEqual([true, false]);
  });

  it('is none if it is about other messages, or about something else', async () => {
    expect(await subscribed('Newsletter;SMS marketing\nyes;no\nno;yes')).toEqual([true, false]);
    expect(await subscribed('Newsletter;VIP\nyes;no\nno;yes')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Confirmed orders\nyes;0\nno;3')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Unsubscribe link\nyes;https://x.example/u')).toEqual([true]);
  });
});

describe('a column that says who gets no e-mails', () => {
  it('is no consent of the others without an answer that says so', async () => {
    const text = 'Do not email\nyes\nno\n';
    expect(await subscribed(text)).toEqual(['word.no']);
    expect(await subscribed(text, { 'word.no': 'subscribed' })).toEqual([false, true, null]);
    expect(await subscribed(text, { 'word.no': 'not-sent' })).toEqual([false, null, null]);
    expect(await subscribed('Opt-out\nyes\n')).toEqual([false, null]);
  });

  it('may have the date of it', async () => {
    expect(await subscribed('Unsubscribed\n2024-01-02\n\n3.1.2024\n2024-01-03\n2024-01-04 10:00')).toEqual([
      false,
      null,
      false,
      false,
      false,
    ]);
  });

  it('is not offered as one that says who gets them', async () => {
    expect(await subscribed('Not subscribed to anything\nyes\nno')).toEqual(['column.unsubscribed']);
  });
});

it('asks for the address of a contact where a header names somebody else', () => {
  const file = { header: ['Name', 'Account manager email'], rows: [['Ada', 'bo@x.example']] };
  expect(proposeMapping('contacts', file).questions.map(({ id }) => id)).toEqual(['column.email']);
});

describe('words that say whether a contact gets e-mails', () => {
  it('are asked about, and may say nothing', async () => {
    const text = 'Newsletter\nyes\npending\nno';
    expect(await subscribed(text)).toEqual(['word.pending']);
    expect(await subscribed(text, { 'word.pending': 'not-sent' })).toEqual([true, null, false]);
  });

  it('are not 0 and 1 beside other numbers', async () => {
    const text = 'Newsletter\n0\n1\n2';
    const ids = ['word.0', 'word.1', 'word.2'];
    expect(await subscribed(text)).toEqual(ids);
    const answers = { 'word.0': 'not-sent', 'word.1': 'no', 'word.2': 'yes' };
    expect(await subscribed(text, answers)).toEqual([null, false, true]);
    expect(await subscribed('Newsletter\n0\n1')).toEqual([false, true]);
  });

  it('are found below a header that does not say what it is about', async () => {
    expect(await subscribed('Status\nsubscribed\ncleaned')).toEqual(['column.subscribed']);
    expect(await subscribed('Status\nnew\nold')).toEqual([null, null]);
  });
});
