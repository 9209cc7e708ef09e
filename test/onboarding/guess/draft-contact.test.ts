import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../../src/mapping/compile-mapping.ts';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, table } from '../../mapping/mapping-setup.ts';
import { NOW } from './guess-setup.ts';

type Answers = Readonly<Record<string, string>>;

/**
 * What is asked of a table in CSV with semicolons below the header of e-mail addresses; else whether each contact gets e-mails, also
 * those of lines that a later file adds.
 */
async function subscribed(text: string, answers: Answers = {}, later = '') {
  const [header = [], ...all] = `${text}${later}`
    .split('\n')
    .map((line, row) => [row === 0 ? 'Email' : `a${row}@x.example`, ...line.split(';')]);
  const rows = all.slice(0, text.split('\n').length - 1);
  const { spec, questions } = proposeMapping('contacts', { header, rows, now: NOW }, answers);
  if (spec === null) return questions.map(({ id }) => id);
  if (spec.import !== 'contacts') throw new Error('no contacts');
  expect(checkMapping(spec)).toEqual([]);
  const contact = { ...spec.contact, id: { const: 7 } };
  const { mapped } = await mapAll({ ...spec, contact }, [table(header, all)]);
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
    ['GDPR consent', 'yes', 'no'],
    ['Active', '1', '0'],
    ['Deleted', '0', '1'],
    ['Werbung nicht erlaubt', 'nein', 'ja'],
    ['No desea recibir correos', 'no', 'sí'],
    ['Refuse les emails', 'non', 'oui'],
    ['Exclude from mailings', '', 'x'],
    ['Quit date', '', '2025-02-03'],
    ['Cancelled', 'no', 'yes'],
    ['Email status', 'valid', 'Hard-Bounced'],
    ['配信停止', '', '1'],
    ['Kontaktsperre', 'nein', 'ja'],
    ['Global opt out', '0', '1'],
    ['Date removed', '', '2025-01-02'],
    ['May contact', 'yes', 'no'],
    ['Werbung erlaubt', 'ja', 'nein'],
    ['Opt-in status', 'granted', 'revoked'],
    ['Tags', 'vip', 'vip, unsubscribed'],
    ['Groups', 'customers', 'customers|Newsletter-Unsubscribed 2025'],
    ['Segment', 'in', 'OptedOut'],
    ['State of mails', 'fine', 'Cleaned (hard bounce)'],
    ['Liste', 'clients', 'désabonnés'],
    ['Mailing', 'weekly', 'never'],
    ['Contact preference', 'e-mail', 'phone only'],
    ['End date', '', '2025-01-02'],
    ['Abo-Ende', '', '2.1.2025'],
    ['Abonelikten çıkış tarihi', '', '2025-01-02'],
    ['Consent expires', '', '2025-01-02'],
    ['Opt-in valid until', '', '2025-01-02'],
    ['Died', '', '2025-01-02'],
    ['Mail ok', '1', '0'],
    ['Διαγραφή', 'Όχι', 'Ναι'],
    ['Avliden', 'nej', 'ja'],
    ['Чёрный список', 'нет', 'да'],
    ['Lista negra', 'no', 'sí'],
    ['Mail error', '', '550 user unknown'],
    ['Status of mail', 'delivered', 'Delivery failed'],
    ['RGPD', 'OK', 'Refus'],
    ['DSGVO-Einwilligung', 'erteilt', 'widerrufen'],
    ['İYS durumu', 'ONAY', 'RET'],
    ['Status', 'Customer', 'Dead'],
    ['Left', '', '2024-05-01'],
    ['Consent', 'Y', 'withheld'],
    ['Confirmed', 'Confirmed', 'awaiting'],
    ['Double opt-in', 'done', 'waiting'],
    ['Consent', 'given', 'lapsed'],
    ['GDPR', 'ok', 'erase'],
    ['RGPD', 'ok', 'à supprimer'],
    ['Confirmed', '2024-01-02 10:00', '?'],
    ['DOI-Status', 'bestätigt', 'angefordert'],
    ['Opt-in source', '2001:db8::1', 'cold list'],
    ['DSGVO-Hinweis', 'ja', 'offen'],
    ['DNC', 'no', 'yes'],
    ['Newsletter group', 'A', 'none'],
    ['Subscriber status', 'Subscribed', 'Not Active'],
    ['Abmeldegrund', '', 'zu viele Mails'],
    ['Ausschlussgrund', '', 'Beschwerde'],
    ['Причина отписки', '', 'спам'],
    ['Reden afmelding', '', 'te veel'],
    ['Data wycofania zgody', '', '2024-05-06'],
    ['Data rezygnacji', '', '2024-05-06'],
    ['Datum odhlášení', '', '3.4.2024'],
    ['Data dezabonării', '', '03.04.2024'],
    ['Дата відписки', '', '03.04.2024'],
    ['Peruttu', '', '3.4.2024'],
    ['Odjavljen', 'ne', 'da'],
    ['停止日', '', '2024-05-01'],
    ['Kontakt unerwünscht', '', 'x'],
    ['Werbestopp', 'nein', 'ja'],
    ['Todesfall', '', 'ja'],
    ['Contact status', 'OK', 'Do not disturb'],
    ['Blocked until', '', '2027-05-05'],
    ['Newsletter opt-out date', '0000-00-00 00:00:00', '2024-01-01 00:00:00'],
    ['Suppressions', '[]', '["USER_SUPPRESSED"]'],
    ['Double opt-in', 'confirmed', ''],
    ['Newsletter-Gruppe', 'Händler', 'keine'],
    ['Marketing channel', 'e-mail and phone', 'phone'],
    ['Canal de marketing', 'e-mail', 'SMS, teléfono'],
    ['Do not call', '', 'x'],
    ['Do not call/contact/email', '0', '1'],
    ['Do Not Call / Contact', '0', '1'],
    ['Consent text', 'I agree to e-mails', 'I do not agree to e-mails'],
    ['Consent text', 'Yes, I agree to e-mails', 'I agree to SMS'],
  ])('by %s is asked about, and counts or not, as the answer says', async (header, agreeing, refusing) => {
    const text = `Newsletter;${header}\nyes;${agreeing}\nyes;${refusing}\nno;${agreeing}`;
    const id = `unused.${header}`;
    expect(await subscribed(text)).toEqual([id]);
    expect(await subscribed(text, { [id]: 'leave-out' })).toEqual([true, true, false]);
    expect(await subscribed(text, { [id]: 'unsubscribed' })).toEqual([true, false, false]);
    const agreed = `Newsletter;${header}\nyes;${agreeing}\nno;${refusing}`;
    expect(await subscribed(agreed)).toEqual([true, false]);
  });

  it.each([
    ['Opt-in status', 'granted', 'revoked', ['lapsed', 'rejected'], ['Granted', true], ['no', false]],
    ['Email status', 'valid', 'hard_bounce', ['complained', 'rejected'], ['Valid', true], ['', true]],
    ['Status', 'Customer', 'Dead', ['Do not mail', 'rejected'], ['customer', true], ['dead', false]],
    [
      'Confirmed',
      '2024-01-02 10:00',
      'waiting',
      ['lapsed', 'rejected'],
      ['2025-03-04T09:30:00Z', true],
      ['', false],
    ],
    ['Consent', 'yes', 'no', ['withheld', 'rejected'], ['1', true], ['false', false]],
    ['Consent', 'present', 'no', ['withheld', 'rejected'], ['yes', true], ['missing', 'rejected']],
  ] as const)(
    'by %s is never a consent by another word of a later file',
    async (header, agreeing, refusing, ...later) => {
      const text = `Newsletter;${header}\nyes;${agreeing}\nyes;${refusing}\nyes;yes`;
      const lines = later.map(([cell]) => `\nyes;${cell}`).join('');
      const sent = await subscribed(text, { [`unused.${header}`]: 'unsubscribed' }, lines);
      expect(sent.slice(3)).toEqual(later.map(([, expected]) => expected));
    },
  );

  it('by another word is rejected with those that are known', async () => {
    const rows = ['yes', 'given', 'revoked'].map((cell) => ['a@x.example', 'yes', cell]);
    const file = { header: ['Email', 'Newsletter', 'Consent'], rows, now: NOW };
    const { spec } = proposeMapping('contacts', file, { 'unused.Consent': 'unsubscribed' });
    if (spec?.import !== 'contacts') throw new Error('no mapping');
    const contact = { ...spec.contact, id: { const: 7 } };
    const later = table(file.header, [['a@x.example', 'yes', 'lapsed']]);
    const { mapped } = await mapAll({ ...spec, contact }, [later]);
    expect(mapped[0]).toMatchObject({
      kind: 'rejected',
      reason: { message: expect.stringMatching(/expected one of given, .*, revoked, /) },
    });
  });

  it.each([
    ['Confirmed at', '0000-00-00 00:00:00'],
    ['Consent status', '2'],
  ])('by %s is asked about where it has %s', async (header, refusing) => {
    expect(await subscribed(`Newsletter;${header}\nyes;${refusing}\nno;1`)).toEqual([`unused.${header}`]);
  });

  it('is asked about with all words that the answer is about', async () => {
    const header = ['Email', 'Newsletter', 'GDPR consent'];
    const rows = ['Granted 2019', 'lapsed in May', 'revoked', 'no'].map((cell, row) => [
      ...[`a${row}@x.example`, 'yes'],
      cell,
    ]);
    const [question] = proposeMapping('contacts', { header, rows, now: NOW }).questions;
    expect(question?.reason).toBe(
      "it has 'lapsed in May' for a contact that 'Newsletter' subscribes; other words are 'revoked'",
    );
  });

  it('is asked about in a text below a header that negates', async () => {
    const text = 'Newsletter;Keine Werbung mehr\nja;\nja;seit 03/2024';
    expect(await subscribed(text)).toEqual(['unused.Keine Werbung mehr']);
  });

  it.each(['Kontaktsperre', 'Opted out XY'])('is asked about in %s beside an odd cell', async (header) => {
    expect(await subscribed(`Newsletter;${header}\nyes;ja\nyes;nein\nyes;seit 2020`)).toEqual([
      `unused.${header}`,
    ]);
  });

  it('counts also where an answer says what is a consent', async () => {
    const text = 'Marketing consent;Email status\ngranted;valid\ngranted;hard_bounce\nimplied;hard_bounce';
    const answers = { 'word.granted': 'yes', 'word.implied': 'not-sent' };
    expect(await subscribed(text, answers)).toEqual(['unused.Email status']);
    expect(await subscribed(text, { ...answers, 'unused.Email status': 'unsubscribed' })).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('is none if it is about other messages, or about something else', async () => {
    expect(await subscribed('Newsletter;SMS marketing\nyes;no\nno;yes')).toEqual([true, false]);
    expect(await subscribed('Newsletter;No SMS please\nyes;yes\nno;no')).toEqual([true, false]);
    expect(await subscribed('Newsletter;VIP\nyes;no\nno;yes')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Note\nyes;no delivery on Monday\nno;')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Member no\nyes;A-7\nno;\nno;')).toEqual([true, false, false]);
    expect(await subscribed('Newsletter;Credits left\nyes;5\nno;12')).toEqual([true, false]);
    // In German it means never.
    expect(await subscribed('Newsletter;VIP\ntak;nie\nnie;tak')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Job\nyes;Reto\nno;Clerk')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Tags\nyes;not blocked\nno;blocked')).toEqual([true, false]);
    expect(await subscribed('Newsletter;End date\nyes;2027-01-02\nno;2025-01-02')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Confirmed orders\nyes;0\nno;3')).toEqual([true, false]);
    expect(await subscribed('Newsletter;Unsubscribe link\nyes;https://x.example/u')).toEqual([true]);
  });
});

describe('a text about a contact', () => {
  it.each([
    ['Remarks', 'UNSUBSCRIBED by phone'],
    ['Remarks', 'do not contact'],
    ['Comments', 'please stop mailing me'],
    ['Comments', `${'met at the fair, '.repeat(9)}asked to be removed 3/4`],
    ['Notiz', 'will keine Mails mehr'],
    ['Notiz', 'verstorben'],
    ['Comment', 'asked to stop receiving the newsletter'],
    ['Comment', "Please don't email me. Thanks"],
    ['Comment', "don't contact"],
    ['Remarque', 'ne veut plus recevoir de newsletter'],
    ['Notas', 'no quiere recibir más correos'],
    ['Opmerking', 'wil geen nieuwsbrief meer'],
  ])('is sent as a note, and is asked about where it refuses e-mails: %s %s', async (header, refusing) => {
    const text = `Newsletter;${header}\nyes;VIP\nyes;${refusing}`;
    const id = `unused.${header}`;
    expect(await contacts(text)).toEqual([id]);
    expect(await contacts(text, { [id]: 'unsubscribed' })).toEqual([
      { subscribed: true, note: 'VIP' },
      { subscribed: false, note: refusing },
    ]);
    expect(await contacts(text, { [id]: 'leave-out' })).toMatchObject([
      { subscribed: true },
      { subscribed: true, note: refusing },
    ]);
    expect(await contacts(`Newsletter;${header}\nyes;VIP\nno;${refusing}`)).toHaveLength(2);
  });

  it('is asked about also where no two are alike, or an answer makes it a note', async () => {
    const rows = Array.from({ length: 20 }, (_, row) => `yes;Call ${'abcdefghijklmnopqrst'.charAt(row)}`);
    expect(await subscribed(`Newsletter;Said\n${rows.join('\n')}\nyes;do not mail`)).toEqual(['unused.Said']);
    expect(await contacts('Newsletter;Said\nyes;do not mail', { 'column.note': 'Said' })).toEqual([
      'unused.Said',
    ]);
  });
});

it('keeps the tags of a contact that one of them unsubscribes', async () => {
  const text = 'Newsletter;Tags\nyes;vip, unsubscribed\nyes;vip';
  expect(await contacts(text, { 'unused.Tags': 'unsubscribed' })).toEqual([
    { subscribed: false, tags: ['vip', 'unsubscribed'] },
    { subscribed: true, tags: ['vip'] },
  ]);
});

describe('dates on which contacts agreed', () => {
  it.each(['DOI-Datum', 'Double Opt-In Datum', 'Opt-in date', 'DSGVO-Einwilligung am'])(
    'below %s are asked about: they may say who gets e-mails',
    async (header) => {
      const text = `${header};SUPPRESSED\n2024-01-02;\n02.01.2024 10:00;yes\n;\n-;`;
      const id = `unused.${header}`;
      expect(await subscribed(text)).toEqual([id]);
      expect(await subscribed(text, { [id]: 'leave-out' })).toEqual([null, null, null, null]);
      const given = { [id]: 'subscribed' };
      expect(await subscribed(text, given)).toEqual(['unused.SUPPRESSED']);
      const answers = { ...given, 'unused.SUPPRESSED': 'unsubscribed' };
      expect(await subscribed(text, answers, '\n2025-01-02;\npending;')).toEqual([
        ...[true, false, false, false],
        ...[true, 'rejected'],
      ]);
    },
  );

  it('are a consent where an answer names their column', async () => {
    const answers = { 'column.subscribed': 'Since' };
    expect(await subscribed('Since\n2024-01-02\n', answers)).toEqual([true, false]);
  });

  it('are none of those without one: the question says which contacts get no e-mails', () => {
    const header = ['Email', 'Newsletter', 'DOI-Datum'];
    const rows = [
      ['a@x.example', 'yes', '2024-01-02'],
      ['b@x.example', 'yes', ''],
    ];
    const [question] = proposeMapping('contacts', { header, rows, now: NOW }).questions;
    expect(question?.answers[1]?.label).toBe('contacts without a date get no e-mails');
  });
});

it.each([
  ['subscribed', 'Inscrito', 'sim', 'não', [true, false]],
  ['subscribed', 'Iscritto', 'sì', 'no', [true, false]],
  ['subscribed', 'Subscription', 'yes', 'no', [true, false]],
  ['unsubscribed', 'Cancelado', '2024-01-02', '', [false, null]],
  ['unsubscribed', 'Widerruf', '2024-01-02', '', [false, null]],
  ['unsubscribed', 'Rezygnacja', 'tak', '', [false, null]],
  ['unsubscribed', 'Çıkış tarihi', '2024-01-02', '', [false, null]],
])('asks whether it is about e-mails who is %s: %s', async (field, header, one, other, sent) => {
  const text = `${header}\n${one}\n${other}`;
  expect(await subscribed(text)).toEqual([`column.${field}`]);
  expect(await subscribed(text, { [`column.${field}`]: '' })).toEqual([null, null]);
  expect(await subscribed(text, { [`column.${field}`]: header })).toEqual(sent);
});

it('names a part of a name that is not sent, and shows it as unused', () => {
  const rows = [['a@x.example', 'Ada']];
  const { columns, notes } = proposeMapping('contacts', { header: ['Email', 'Vorname'], rows });
  expect(columns[1]?.field).toBeNull();
  expect(notes).toEqual([
    "'Vorname' is not sent: it is only a part of the name; make it the name to send it.",
  ]);
});

describe('a column that says who gets no e-mails', () => {
  it('is no consent of those whom another column refuses', async () => {
    const text = 'OPT_OUT;SUPPRESSED\nfalse;false\nfalse;true\ntrue;';
    const answers = { 'word.false': 'subscribed' };
    expect(await subscribed(text, answers)).toEqual(['unused.SUPPRESSED']);
    expect(await subscribed(text, { ...answers, 'unused.SUPPRESSED': 'unsubscribed' })).toEqual([
      true,
      false,
      false,
    ]);
    expect(await subscribed(text, { 'word.false': 'not-sent' })).toEqual([null, null, false]);
  });

  it('is required, as is each that decides whether a contact gets e-mails', () => {
    const { spec } = proposeMapping(
      'contacts',
      {
        header: ['Email', 'Newsletter', 'Abgemeldet am'],
        rows: [
          ['a@x.example', 'ja', ''],
          ['b@x.example', 'ja', '2024-01-01'],
        ],
        now: NOW,
      },
      { 'unused.Abgemeldet am': 'unsubscribed' },
    );
    expect(spec?.required).toEqual(['email', 'unsubscribed', 'subscribed']);
  });

  it('is not taken for the contrary since an earlier mapping has it', async () => {
    const header = ['Email', 'OPT_OUT'];
    const rows = [
      ['a@x.example', 'false'],
      ['b@x.example', 'true'],
    ];
    const { spec } = proposeMapping('contacts', { header, rows, now: NOW }, { 'word.false': 'not-sent' });
    if (spec === null) throw new Error('no mapping');
    const again = proposeMapping('contacts', { header, rows, now: NOW }, {}, [
      { name: 'one', shipped: false, spec },
    ]);
    expect(again.columns.find(({ header }) => header === 'OPT_OUT')?.field).not.toBe('subscribed');
    expect(again.questions.map(({ id }) => id)).toEqual(['word.false']);
  });

  it('is no consent of the others without an answer that says so', async () => {
    const text = 'Do not email\nyes\nno\n';
    expect(await subscribed(text)).toEqual(['word.no']);
    expect(await subscribed(text, { 'word.no': 'subscribed' })).toEqual([false, true, null]);
    expect(await subscribed(text, { 'word.no': 'not-sent' })).toEqual([false, null, null]);
    expect(await subscribed('Opt-out\nyes\n')).toEqual([false, null]);
    expect(await subscribed('Eintragung;Austragung\n2024-01-02;2024-02-03\n2024-01-02;')).toEqual([
      false,
      null,
    ]);
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

  it.each([
    ['Aktiv;Raus\nja;nein\nja;ja\nnein;nein', {}, [true, false, false]],
    ['Aktiv;Raus\nja;\nja;2024-01-02\nnein;', {}, [true, false, false]],
    [
      'Aktiv;Raus\nja;weg\nja;hier\nnein;hier',
      { 'word.weg': 'unsubscribed', 'word.hier': 'not-sent' },
      [false, true, false],
    ],
  ])('counts beside a consent where answers name both: %s', async (text, words, sent) => {
    const answers = { 'column.subscribed': 'Aktiv', 'column.unsubscribed': 'Raus', ...words };
    expect(await subscribed(text, answers)).toEqual(sent);
  });

  it('asks for unknown words beside a consent, and rejects those of later files', async () => {
    const answers = { 'column.subscribed': 'Aktiv', 'column.unsubscribed': 'Raus' };
    const [header, rows] = ['Aktiv;Raus', 'ja;weg\nja;nein'];
    expect(await subscribed(`${header}\n${rows}`, answers)).toEqual(['word.weg']);
    const given = { ...answers, 'word.weg': 'unsubscribed' };
    expect(await subscribed(`${header}\n${rows}`, given, '\nja;fort\nja;')).toEqual([
      ...[false, true],
      ...['rejected', true],
    ]);
  });

  it('is never taken for a consent where an answer names it, nor for both', async () => {
    const text = 'Newsletter\nja\nnein';
    const answers = { 'column.unsubscribed': 'Newsletter' };
    expect(await subscribed(text, { ...answers, 'word.nein': 'not-sent' })).toEqual([false, null]);
    await expect(subscribed(text, { ...answers, 'column.subscribed': 'Newsletter' })).rejects.toThrow(
      "'Newsletter' cannot say both",
    );
  });

  it('may have a word beside later dates, which is no refusal: it is rejected', async () => {
    const later = '\nnever\n2025-02-03\nno\n';
    expect(await subscribed('Unsubscribed\n2024-01-02\n-', {}, later)).toEqual([
      ...[false, null],
      ...['rejected', false, null, null],
    ]);
  });

  it('is taken where dates say who gets them: whoever has unsubscribed later has a date below both', async () => {
    const text = 'Subscribed;Unsubscribed\n2024-01-02;\n2024-01-03;2025-01-02';
    expect(await subscribed(text)).toEqual([null, false]);
  });

  it('is never nearly called so: the day of a registration is not that of its end', async () => {
    expect(await subscribed('Anmeldedatum\n2024-01-02\n2024-01-03')).toEqual([null, null]);
    expect(await subscribed('Abmeldedatum\n2024-01-02\n')).toEqual([false, null]);
    expect(await subscribed('Abmeldedatun\n2024-01-02\n')).toEqual(['column.unsubscribed']);
    expect(await subscribed('Subscriped\nyes\nno')).toEqual(['column.subscribed']);
  });

  it('is not offered as one that says who gets them', async () => {
    expect(await subscribed('Unsub reason\nspam\n')).toEqual(['column.unsubscribed']);
    expect(await subscribed('Not subscribed to anything\nyes\nno')).toEqual(['column.unsubscribed']);
  });
});

it('asks for the address of a contact where a header names somebody else', () => {
  const file = { header: ['Name', 'Account manager email'], rows: [['Ada', 'bo@x.example']] };
  expect(proposeMapping('contacts', file).questions.map(({ id }) => id)).toEqual(['column.email']);
});

it('offers a column called an e-mail address, whatever it has', () => {
  const file = { header: ['Name', 'Email'], rows: [['Ada', 'Ada Low <ada@x.example>']] };
  expect(
    proposeMapping('contacts', file).questions.map(({ answers }) => answers.map(({ value }) => value)),
  ).toEqual([['Email']]);
});

it('takes no last order for the last name', async () => {
  expect(await contacts('Name;Last order\nAda Low;2026-01-02')).toEqual([{ name: 'Ada Low' }]);
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

/** What is asked of a table like the above, or what is sent of each contact. */
async function contacts(text: string, answers: Answers = {}) {
  const [header = [], ...rows] = text
    .split('\n')
    .map((line, row) => [row === 0 ? 'Email' : `a${row}@x.example`, ...line.split(';')]);
  const { spec, questions } = proposeMapping('contacts', { header, rows }, answers);
  if (spec === null) return questions.map(({ id }) => id);
  if (spec.import !== 'contacts') throw new Error('no contacts');
  const contact = { ...spec.contact, id: { const: 7 } };
  const { mapped } = await mapAll({ ...spec, contact }, [table(header, rows)]);
  return mapped.map((one) => {
    const { email: _, ...sent } = one.kind === 'record' && 'email' in one.body ? one.body : expect.fail();
    return sent;
  });
}

describe('a postal code', () => {
  it('that a spreadsheet may have shortened is asked about, and gets its zero back', async () => {
    const text = 'ZIP\n1067\n10115';
    expect(await contacts(text)).toEqual(['unused.ZIP']);
    expect(await contacts(text, { 'unused.ZIP': 'as-is' })).toEqual([{ zip: '1067' }, { zip: '10115' }]);
    expect(await contacts(text, { 'unused.ZIP': 'add-zero' })).toEqual([{ zip: '01067' }, { zip: '10115' }]);
    const floats = text.replace('1067', '1067.0').replace('10115', '10115.0');
    expect(await contacts(floats, { 'unused.ZIP': 'add-zero' })).toEqual([
      { zip: '01067' },
      { zip: '10115' },
    ]);
    expect(await contacts('ZIP\n01067\n1010\n10115')).toHaveLength(3);
  });

  it('of four digits is one of its own country', async () => {
    expect(await contacts('ZIP;Country\n1010;AT\n10115;DE')).toEqual([
      { zip: '1010', country: 'AT' },
      { zip: '10115', country: 'DE' },
    ]);
    const mixed = 'ZIP;Country\n1010;AT\n10115;DE\n1067;DE';
    expect(await contacts(mixed, { 'unused.ZIP': 'add-zero' })).toMatchObject([
      { zip: '1010' },
      { zip: '10115' },
      { zip: '01067' },
    ]);
  });
});

describe('a column with the name of a field', () => {
  it.each([
    ['state', 'State', 'active'],
    ['state', 'State', 'unsubscribed'],
    ['state', 'State', 'yes'],
    ['state', 'State', '2025-01-02'],
    ['state', 'Region', 'bo@x.example'],
    ['city', 'City', '10115'],
    ['zip', 'ZIP', 'Berlin'],
    ['zip', 'ZIP', '10,115'],
    ['phone', 'Phone', '4.91512E+11'],
  ])('and other values is asked about: %s', async (field, header, value) => {
    expect(await contacts(`Name;${header}\nAda;${value}`)).toEqual([`column.${field}`]);
    expect(await contacts(`Name;${header}\nAda;${value}`, { [`column.${field}`]: '' })).toEqual([
      { name: 'Ada' },
    ]);
  });

  it('and the parts of it are joined', async () => {
    const text =
      'Voornaam;Tussenvoegsel;Achternaam;Straat;Huisnummer;Toevoeging;Telefoon;Labels\nAda;van der;Low;Weg;1;A;491512345678.0;["a","b"]\nBo;;Ray;Laan;2;;;';
    expect(await contacts(text)).toEqual([
      { name: 'Ada van der Low', address: 'Weg 1 A', phone: '491512345678', tags: ['a', 'b'] },
      { name: 'Bo Ray', address: 'Laan 2' },
    ]);
  });
});

it('is no other short word that resembles the name of a field', async () => {
  expect(await contacts('Name;Stage\nAda;customer')).toEqual([{ name: 'Ada' }]);
});

it('knows the parts of the name of a contact', async () => {
  expect(await contacts('Contact first name;Contact last name\nAda;Low')).toEqual([{ name: 'Ada Low' }]);
});

describe('a part of a name or an address', () => {
  it('is asked about where it may be the rest of another', async () => {
    const names = 'Nombre;Apellido del socio\nAda;Low\nBo;Ray';
    expect(await contacts(names)).toEqual(['column.lastName']);
    expect(await contacts(names, { 'column.lastName': 'Apellido del socio' })).toEqual([
      { name: 'Ada Low' },
      { name: 'Bo Ray' },
    ]);
    const streets = 'Name;Street;Door\nAda;High Street;12a\nBo;Low Street;3';
    expect(await contacts(streets)).toEqual(['column.houseNumber']);
    expect(await contacts(streets, { 'column.houseNumber': 'Door' })).toEqual([
      { name: 'Ada', address: 'High Street 12a' },
      { name: 'Bo', address: 'Low Street 3' },
    ]);
    expect(await contacts(streets.replaceAll(' Street', ' Street 1'))).toEqual([
      { name: 'Ada', address: 'High Street 1' },
      { name: 'Bo', address: 'Low Street 1' },
    ]);
  });

  it('is asked about where names begin with the last one', async () => {
    const text = 'Name\nLow, Ada\nRay, Bo';
    expect(await contacts(text)).toEqual(['unused.Name']);
    expect(await contacts(text, { 'unused.Name': 'turn' })).toEqual([
      { name: 'Ada Low' },
      { name: 'Bo Ray' },
    ]);
    expect(await contacts(text, { 'unused.Name': 'as-is' })).toEqual([
      { name: 'Low, Ada' },
      { name: 'Ray, Bo' },
    ]);
  });
});
