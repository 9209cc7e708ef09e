import type {
  Condition,
  ContactMappingSpec,
  ContactSpec,
  Flag,
  Transform,
  Value,
} from '../../mapping/spec/mapping-spec.ts';
import { withoutAbsent, withoutUndefined } from '../../model/json-object.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { COLUMN_FIELDS, type Concept } from '../column-fields.ts';
import { countedShare, type Guess, isCalled, isMentioned, LEAVE_OUT, readBy } from './guess.ts';
import {
  hasBeginning,
  hasPart,
  hasPhrase,
  hasWord,
  readContactHeader,
  wordsOfHeader,
} from './header-reading.ts';
import {
  areDates,
  areFlags,
  areUnnamedDates,
  booleanOf,
  isAddresses,
  isEmail,
  isMark,
  isMissingValue,
  isMostly,
  isPhone,
  listSteps,
  MAX_STATES,
  markedRows,
  momentsOf,
  otherWords,
  readerOfFlags,
  type SampledColumn,
  shareOf,
  visibilityOf,
  wordsIn,
} from './sampled-column.ts';
import { isCellWord, words } from './words.ts';

/** A mapping of contacts; undefined while a question is open. */
export function draftContact(guess: Guess): ContactMappingSpec | undefined {
  const pick = (
    field: keyof typeof COLUMN_FIELDS.contacts,
    fits: (column: SampledColumn) => boolean = ({ values }) => values.length > 0,
    shown: (column: SampledColumn) => string = () => '',
  ) => guess.pick(field, { fits, shown, isRequired: field === 'email', prefer: isFirst });
  const emails = (column: SampledColumn) => isMostly(column, isEmail);
  const shownEmails = (column: SampledColumn) => countedShare(column, isEmail, 'are e-mail addresses');
  let email = pick('email', emails, shownEmails);
  if (email === undefined && guess.questions.length === 0) {
    const [only, second] = guess.columns.filter((column) => column.header !== '' && emails(column));
    const isOwn = only !== undefined && !hasWord(only.header, 'otherPeople');
    if (isOwn && second === undefined && guess.given('email') === undefined) {
      email = guess.claim('email', only, shownEmails(only), 'likely');
    } else {
      const candidates = guess.columns.filter(
        (column) => isCalled(column, 'email') || shareOf(column, isEmail) > 0,
      );
      guess.askColumn('email', candidates, 'no header is called an e-mail address', null);
    }
  }
  const areWords = (column: SampledColumn) => isMostly(column, (value) => /\p{L}/u.test(value));
  let first = pick('firstName', areWords);
  let last = pick('lastName', areWords);
  const name = pick('name', areWords);
  askMissing(guess, 'firstName', last !== undefined && (first ?? name) === undefined);
  askMissing(guess, 'lastName', last === undefined && (first ?? name) !== undefined);
  // Beside Apellidos, Nombre is the first name; beside Vorname, Name is the last name.
  const other = first ?? last;
  const isHalf = name?.cells.some((cell, row) => cell !== '' && !cell.includes(other?.cells[row] ?? ''));
  if (name !== undefined && isHalf === true && (first === undefined) !== (last === undefined)) {
    const field = first === undefined ? 'firstName' : 'lastName';
    const beside = first === undefined ? 'last' : 'first';
    guess.claim(field, name, `header is a name, beside the ${beside} name`, 'likely');
    if (first === undefined) first = name;
    else last = name;
  }
  /** As pick, of values that all have this form; a column that has the name of the field and other values is asked about. */
  const pickOf = (field: keyof typeof COLUMN_FIELDS.contacts, isOne: (value: string) => boolean) => {
    const found = pick(field, (column) => isMostly(column, isOne));
    const other = guess.freeCalled(field).find(({ values }) => values.length > 0);
    const sample = other?.values.find((value) => !isOne(value));
    if (found === undefined && other !== undefined && sample !== undefined)
      guess.askUnclear(field, [other], `'${other.header}' is called that, and has '${sample}'`);
    return found;
  };
  const phone = pickOf('phone', isPhone);
  const mobile = pickOf('mobile', isPhone);
  const address = pick('address');
  const house = pick('houseNumber', (column) => isMostly(column, isHouseNumber));
  const isBare = address !== undefined && isMostly(address, (value) => !/\d/.test(value));
  askMissing(guess, 'houseNumber', isBare && house === undefined, isHouseNumber);
  const [companyName, note] = [pick('companyName'), pick('note')];
  const city = pickOf('city', (value) => /\p{L}/u.test(value));
  const country = pickOf('country', (value) => /\p{L}/u.test(value));
  // Active is the state of a contact, and of no address.
  const state = pickOf(
    'state',
    (value) =>
      !isEmail(value) &&
      !isDate(value) &&
      // NO and SI are states too.
      (value.length === 2 || (visibilityOf(value) === undefined && !isRefusal(value))),
  );
  const zip = pickOf('zip', (value) => /\d/.test(value) && !/,|E\+|^\d{4}-\d{2}-\d{2}/i.test(value));
  askAddressParts(guess);
  const postalCode = zip && zipValue(guess, zip, country);
  const wholeName = first && last ? undefined : name && nameValue(guess, name);
  const tags = pick('tags');
  const before = new Set(guess.used.keys());
  const subscribed = draftSubscribed(guess, { note, tags });
  const consents = [...guess.used.keys()].filter((key) => !before.has(key));
  if (email === undefined || guess.questions.length > 0) return undefined;
  const use = (field: string, column: SampledColumn | undefined) => column && guess.use(field, column);
  const list = (['|', ';', ','] as const).find((sign) => tags?.values.some((value) => value.includes(sign)));
  const parts = (concept: 'middleName' | 'addressLine') =>
    guess
      .freeCalled(concept)
      .filter(({ values }) => values.length > 0)
      .map((column) => guess.use(concept, guess.claim(concept, column, 'header is a part of it', 'likely')));
  for (const part of withoutAbsent([first, last]))
    if ((first === undefined || last === undefined) && part !== name)
      guess.leaveOut(
        part,
        name ? 'the whole name is' : 'it is only a part of the name; make it the name to send it',
      );
  const names = first &&
    last && [guess.use('firstName', first), ...parts('middleName'), guess.use('lastName', last)];
  const street = use('address', address);
  const number = street && use('houseNumber', house);
  const more = street === undefined ? [] : parts('addressLine');
  const tagged = use('tags', tags);
  const contact: ContactSpec = withoutUndefined({
    email: [guess.use('email', email), 'email'],
    name:
      names === undefined
        ? wholeName
        : { join: guess.languages.some(isFamilyNameFirst) ? names.reverse() : names },
    phone: firstOf(withoutAbsent([phone, mobile]).map((one) => numberValue(guess, 'phone', one))),
    address:
      street && (number || more.length > 0) ? { join: withoutAbsent([street, number, ...more]) } : street,
    companyName: use('companyName', companyName),
    city: use('city', city),
    zip: postalCode,
    state: use('state', state),
    country: use('country', country),
    note: use('note', note),
    tags: tagged && tags && [tagged, ...listSteps(tags), { split: list ?? ';' }],
    subscribed,
  });
  // In a file without the column of those who have unsubscribed, the others would say that all get e-mails.
  const required = [guess.use('email', email), ...consents];
  return { import: 'contacts', columns: guess.columnSpecs(), required, contact, tests: [] };
}

/** Whether a header means one thing, and the first of several such columns. */
function isFirst({ reading }: SampledColumn) {
  return (reading.qualifiers.number ?? 1) === 1 && reading.meanings.length === 1;
}

/** Asks which column of an unknown header has a part of a name or address whose other part is known: alone it would be sent as the whole. */
function askMissing(
  guess: Guess,
  field: 'firstName' | 'lastName' | 'houseNumber',
  isMissing: boolean,
  isOne?: (value: string) => boolean,
) {
  if (!isMissing) return;
  const candidates = guess.free.filter(
    (column) =>
      isMentioned(column, field) ||
      (isOne !== undefined && column.reading.meanings.length === 0 && isMostly(column, isOne)),
  );
  guess.askUnclear(field, candidates, 'without it, a part would be sent as the whole');
}

/** Whether a value is a number in a street: 1, 12a, 3/5. */
function isHouseNumber(value: string) {
  return /^\d{1,4}(?: ?[-/] ?\d{1,4})? ?\p{L}?$/u.test(value);
}

/** The whole name; whether it has the last name first is asked: Low, Ada. */
function nameValue(guess: Guess, column: SampledColumn): Value | undefined {
  const name = guess.use('name', column);
  const isTurned = (value: string) => /^\p{Lu}[^\d,]*, ?\p{Lu}[^\d,]*$/u.test(value);
  if (!isMostly(column, isTurned)) return name;
  const answer = guess.ask({
    id: `unused.${column.header}`,
    text: `Do names in '${column.header}' begin with the last name?`,
    reason: `${countedShare(column, isTurned, 'have a comma')}, such as '${column.values.find(isTurned)}'`,
    answers: [
      { value: 'turn', label: 'yes: they are sent with the first name first, without the comma' },
      { value: 'as-is', label: 'no: they are sent as they are' },
    ],
  });
  return answer === 'turn' ? [name, { replace: '^([^,]+), *([^,]+)$', with: '$2 $1' }] : name;
}

const ADDRESS_FIELDS = ['address', 'zip', 'city', 'state', 'country'] as const;

/**
 * Asks about columns of unknown names that may be a part of the address: without it, the store would keep the old part
 * beside the new ones.
 */
function askAddressParts(guess: Guess) {
  const taken = guess.fields();
  if (!ADDRESS_FIELDS.some((field) => taken.includes(field))) return;
  const unknown = guess.free.filter(
    ({ reading, values }) => reading.meanings.length === 0 && values.length > 0,
  );
  for (const field of ADDRESS_FIELDS.filter((one) => !taken.includes(one))) {
    const candidates = unknown.filter(
      (column) => isMentioned(column, field) || (field === 'zip' && isMostly(column, isPostalCode)),
    );
    guess.askUnclear(
      field,
      candidates,
      'without it, the store keeps the old one beside the new address',
      field === 'address' ? 'the street' : `${COLUMN_FIELDS.contacts[field].what} of the address`,
    );
  }
}

/** Whether a value is written as postal codes are: 10115, LS1 1AA, 00-950. */
function isPostalCode(value: string) {
  return /^(?=(?:.*\d){2})[A-Z0-9]{2,5}(?:[ -][A-Z0-9]{2,4})?$/i.test(value);
}

/** A column of digits; a program may have made numbers of them: 491512.0. */
function numberValue(guess: Guess, field: string, column: SampledColumn) {
  return readBy(guess.use(field, column), pointSteps(column));
}

function pointSteps({ values }: SampledColumn): readonly Transform[] {
  return values.some((value) => /^\d+\.0$/.test(value)) ? [{ replace: '[.]0$' }] : [];
}

/** The postal code. A spreadsheet takes the zero from 01067: codes of four digits among those of five are asked about. */
function zipValue(guess: Guess, zip: SampledColumn, country: SampledColumn | undefined): Value | undefined {
  const codes = zip.cells.map((cell) => cell.replace(/\.0$/, ''));
  const countriesOf = (length: number) =>
    new Set(
      codes.flatMap((code, row) =>
        /^\d+$/.test(code) && code.length === length ? [country?.cells[row] ?? ''] : [],
      ),
    );
  const whole = countriesOf(5);
  const short = [...countriesOf(4)].filter((one) => whole.has(one));
  const plain = numberValue(guess, 'zip', zip);
  if (short.length === 0 || codes.some((code) => code.startsWith('0'))) return plain;
  const row = codes.findIndex((code, at) => code.length === 4 && short.includes(country?.cells[at] ?? ''));
  const answer = guess.ask({
    id: `unused.${zip.header}`,
    text: `Has a spreadsheet taken the first zero of postal codes in '${zip.header}'?`,
    reason: `it has '${codes[row]}' beside codes of five digits, and none begins with 0`,
    answers: [
      { value: 'as-is', label: 'no: they are sent as they are' },
      { value: 'add-zero', label: 'yes: those of four digits get it back' },
    ],
  });
  if (answer !== 'add-zero') return plain;
  const padded = readBy(guess.use('zip', zip), [
    ...pointSteps(zip),
    { replace: '^([0-9]{4})$', with: '0$1' },
  ]);
  if (country === undefined) return padded;
  return {
    first: [
      { value: padded, when: { [guess.use('country', country)]: short.map((one) => one || 'blank') } },
      plain,
    ],
  };
}

function firstOf(values: readonly Value[]) {
  const [only, second] = values;
  return second === undefined ? only : { first: values };
}

function isFamilyNameFirst(language: string) {
  return Object.values(words().languages).some((one) => one.name === language && one.familyNameFirst);
}

/**
 * Whether contacts get e-mails. That nobody has refused them is no consent, and a consent counts only if no other column takes it
 * back: both are asked. Undefined also while a question is open.
 */
function draftSubscribed(guess: Guess, sent: SentTexts): Flag | undefined {
  const fits = (column: SampledColumn) => column.values.length > 0 && column.distinct <= MAX_FLAGS;
  const pick = (field: 'subscribed' | 'unsubscribed', fitting: (column: SampledColumn) => boolean) =>
    guess.pick(field, {
      fits: fitting,
      shown: (column) => countedShare(column, (value) => booleanOf(value) !== undefined, 'are yes or no'),
      prefer: isFirst,
    });
  const subscribed = pick('subscribed', (column) => fits(column) && !areDates(column));
  if (subscribed !== undefined && areConsentDates(subscribed)) return datedConsent(guess, subscribed, sent);
  if (subscribed !== undefined) return consentOf(guess, 'subscribed', subscribed, sent);
  const unsubscribed = pick('unsubscribed', (column) => fits(column) || areDates(column));
  if (unsubscribed !== undefined && areDates(unsubscribed))
    return [refusedWhereFilled(guess.use('unsubscribed', unsubscribed), unsubscribed)];
  if (unsubscribed !== undefined) return consentOf(guess, 'unsubscribed', unsubscribed, sent);
  askUnclear(guess, fits);
  const [dated] = guess.isDecided('subscribed') ? [] : guess.free.filter(mayDateConsent);
  const answer =
    dated && guess.askUnused([dated], 'has dates, and may say who agreed to e-mails', DATED_ANSWERS);
  return dated && answer === 'subscribed' ? datedConsent(guess, dated, sent) : undefined;
}

const DATED_ANSWERS = [
  LEAVE_OUT,
  { value: 'subscribed', label: 'contacts with a date get e-mails, those without get none' },
];

function areConsentDates(column: SampledColumn) {
  return areDates(column) && column.values.every((value) => isNumbered(value) || !isFilled(value));
}

/** Whether a column has the dates on which contacts agreed to e-mails, and not those on which they refused: DOI-Datum. */
function mayDateConsent(column: SampledColumn) {
  const [sample = ''] = column.values;
  return (
    hasPart(column.header, 'agreeing') &&
    column.reading.meanings.every(({ concept }) => concept === 'confirmed') &&
    areConsentDates(column) &&
    refusalsOf(column)?.test(sample) === false
  );
}

/** Contacts with a date get e-mails, those without get none. */
function datedConsent(guess: Guess, dates: SampledColumn, sent: SentTexts): Flag {
  const isSubscribed = dates.cells.map(isNumbered);
  const refused = askRefusals(guess, dates, isSubscribed, sent);
  const name = guess.use('subscribed', dates);
  const none = wordsIn({ values: dates.values.filter((value) => !isFilled(value)) });
  return [
    {
      first: [
        ...refused,
        { value: { const: true }, when: { [name]: { matches: NUMBERED } } },
        { value: { const: false }, when: { [name]: ['blank', ...none] } },
        [name, 'boolean'],
      ],
    },
  ];
}

/** Columns that are sent, and whose texts may say it too. */
type SentTexts = Readonly<Record<'note' | 'tags', SampledColumn | undefined>>;

/** A column of flags has no more different values. */
const MAX_FLAGS = 4;

const NOT_SENT = 'neither: nothing is sent about it';
type Answer = 'yes' | 'no' | 'not-sent';

/**
 * What the words of a column mean; undefined while that is asked. That somebody has not refused e-mails is asked too, unless
 * another column has the consent.
 */
function meaningsOf(guess: Guess, column: SampledColumn, isNegative: boolean, hasConsent = false) {
  const read = readerOfFlags(column);
  const all = wordsIn(column);
  const open = isNegative && !hasConsent ? all.find((word) => read(word) === false) : undefined;
  const labels = isNegative
    ? {
        'not-sent': NOT_SENT,
        ...(!hasConsent && { subscribed: 'the contact gets e-mails' }),
        unsubscribed: 'the contact gets no e-mails',
      }
    : { yes: 'yes', no: 'no', 'not-sent': NOT_SENT };
  const answers = all.map((word) => {
    const known = read(word);
    const asked = known === undefined ? word : known ? undefined : open;
    const plain = known === true ? 'yes' : hasConsent ? 'not-sent' : 'no';
    const answer = asked === undefined ? plain : answerTo(guess.askWord(asked, column, labels));
    // A word such as yes stands for all its spellings, unless numbers mean something else here.
    const general = booleanOf(word) === true ? 'yes' : 'no';
    return { answer, word: known === undefined ? word : general };
  });
  if (answers.some(({ answer }) => answer === undefined)) return undefined;
  const isCoded = all.some((word) => read(word) !== booleanOf(word));
  const general = isCoded ? [] : (['yes', 'no'] as const);
  const unseen = general
    .filter((word) => !answers.some((one) => one.word === word))
    .map((word) => ({ answer: word === 'no' && isNegative ? 'not-sent' : word, word }));
  return (answer: Answer) => [
    ...new Set([...unseen, ...answers].filter((one) => one.answer === answer).map(({ word }) => word)),
  ];
}

/** What an answer says of the words of a column: yes in a column of those who get no e-mails is unsubscribed. */
function answerTo(answer: string | undefined) {
  return answer === 'unsubscribed' ? 'yes' : answer === 'subscribed' ? 'no' : answer;
}

type FlagSteps = Exclude<Flag, boolean | string | Condition>;

/** `yes` and `no`: the answers for words of contacts who get e-mails, and of those who do not. */
function flagValue(
  name: string,
  meanings: (answer: Answer) => readonly string[],
  yes: Answer,
  no: Answer,
): FlagSteps {
  const silent = meanings('not-sent');
  const lists = { yes: [...meanings(yes)], no: [...meanings(no)] };
  const isPlain = yes === 'yes' && lists.yes.join() === 'yes' && lists.no.join() === 'no';
  if (lists.yes.length === 0) lists.yes.push('subscribed');
  if (lists.no.length === 0) lists.no.push('unsubscribed');
  const value: FlagSteps = [name, isPlain ? 'boolean' : { boolean: lists }];
  return silent.length === 0 ? value : [{ value, unless: { [name]: silent } }];
}

/** What a flag says of contacts, and other columns take back; undefined while its words are asked about. */
function consentOf(
  guess: Guess,
  field: 'subscribed' | 'unsubscribed',
  flag: SampledColumn,
  sent: SentTexts,
): Flag | undefined {
  const isNegative = field === 'unsubscribed';
  const [agreeing, refusing] = isNegative ? (['no', 'yes'] as const) : (['yes', 'no'] as const);
  const meanings = meaningsOf(guess, flag, isNegative);
  const words = meanings?.(agreeing) ?? [];
  const read = readerOfFlags(flag);
  const isSubscribed = flag.cells.map(
    (cell) => read(cell) === !isNegative || words.includes(cell.toLowerCase()),
  );
  // That somebody has not refused e-mails is a consent only where an answer says so.
  const refused = isNegative && words.length === 0 ? [] : askRefusals(guess, flag, isSubscribed, sent);
  const said = meanings && flagValue(guess.use(field, flag), meanings, agreeing, refusing);
  return said === undefined || refused.length === 0 ? said : [{ first: [...refused, said] }];
}

/** Asks about columns whose headers or values may say it. */
function askUnclear(guess: Guess, fits: (column: SampledColumn) => boolean) {
  const unclear = guess.free.filter((column) => {
    const isState = column.distinct <= MAX_STATES && column.values.some(isRefusal);
    const isNamed = isMentioned(column, 'subscribed', 'unsubscribed', 'ended') && fits(column);
    const mayHaveJoined = isCalled(column, 'joined') && fits(column) && !areDates(column);
    const mayHaveLeft = isCalled(column, 'ended') && column.values.length > 0;
    return mayHaveJoined || mayHaveLeft || (column.reading.meanings.length === 0 && (isNamed || isState));
  });
  const isNegative = (column: SampledColumn) =>
    isMentioned(column, 'unsubscribed', 'refused', 'ended') ||
    isCalled(column, 'ended') ||
    hasPart(column.header, 'refusing') ||
    hasWord(column.header, 'negations');
  for (const [field, columns] of [
    ['unsubscribed', unclear.filter(isNegative)],
    ['subscribed', unclear.filter((column) => !isNegative(column))],
  ] as const)
    guess.askUnclear(field, columns, 'their headers or values may say it');
}

/**
 * Asks about columns that say of contacts whom the flag subscribes, by yes or by words that an answer takes for it, that they have
 * unsubscribed, that mail to them came back, or that they have not confirmed. The values that an answer gives: false for these contacts.
 */
function askRefusals(
  guess: Guess,
  flag: SampledColumn,
  isSubscribed: readonly boolean[],
  { note, tags }: SentTexts,
): readonly Value[] {
  const { now = Number.POSITIVE_INFINITY } = guess;
  /** Whether what a date ends is over; what blocks e-mails until then does it now. */
  const isOver = (cell: string, { header }: SampledColumn) =>
    hasPart(header, 'refusing') || momentsOf(cell).every((moment) => moment <= now);
  const given = guess.given('unsubscribed');
  if (given === flag && guess.given('subscribed') === flag)
    throw new UsageError(`--column: '${flag.header}' cannot say both who is subscribed and who is not.`);
  return [...guess.free, ...withoutAbsent([note, tags])].flatMap((column) => {
    if (column === given) return withoutAbsent([refusalsGiven(guess, column)]);
    const field = column === note ? 'note' : column === tags ? 'tags' : undefined;
    const refusals = field ? statesOf(column) : refusalsOf(column);
    const found = column.cells.find(
      (cell, row) => isSubscribed[row] === true && refusals?.test(cell) && isOver(cell, column),
    );
    if (refusals === undefined || found === undefined) return [];
    const shown = found === '' ? 'is blank' : `has '${found}'`;
    const isOther = (word: string) =>
      word !== found.toLowerCase() && booleanOf(word) === undefined && !isWordless(word);
    const others = wordsIn({ values: column.values.filter(refusals.test) }).filter(isOther);
    const also = otherWords(others.slice(0, MAX_STATES));
    const answer = guess.askUnused(
      [column],
      `${shown} for a contact that '${flag.header}' subscribes${also}`,
      [
        field ? { value: LEAVE_OUT.value, label: 'nothing about e-mails' } : LEAVE_OUT,
        {
          value: 'unsubscribed',
          label: areDates(column)
            ? `contacts ${found === '' ? 'without' : 'with'} a date get no e-mails`
            : 'such a contact gets no e-mails',
        },
      ],
    );
    if (answer !== 'unsubscribed') return [];
    const name = field ? guess.use(field, column) : guess.useAnswered('unsubscribed', column);
    return refusals.values(name);
  });
}

/** False for those whom a column refuses that an answer names beside the consent; undefined while its words are asked about. */
function refusalsGiven(guess: Guess, column: SampledColumn): Value | undefined {
  const name = guess.useAnswered('unsubscribed', column);
  if (areDates(column)) return refusedWhereFilled(name, column);
  const meanings = meaningsOf(guess, column, true, true);
  return meanings && refusalValue(name, meanings('yes'), meanings('not-sent'));
}

/**
 * False for words that refuse, and nothing for others, or for dates and the like; a word that was not asked about rejects its
 * contact.
 */
function refusalValue(
  name: string,
  refusing: readonly string[],
  others: readonly string[],
  hasNumbers = false,
): Value {
  const yes = others.filter((word) => !['present', 'missing'].includes(word));
  const known = { yes: yes.length > 0 ? yes : ['subscribed'], no: [...refusing] };
  const isPlain = known.yes.join() === 'yes' && known.no.join() === 'no';
  const agreeing = { [name]: known.yes };
  return {
    value: [name, isPlain ? 'boolean' : { boolean: known }],
    unless: hasNumbers ? { any: [agreeing, { [name]: { matches: NUMBERED } }] } : agreeing,
  };
}

/** False where a column is filled; beside dates a word that it did not have, such as never, rejects its contact. */
function refusedWhereFilled(name: string, column: SampledColumn): Value {
  const refused = (when: Condition): Value => ({ value: { const: false }, when });
  if (!areConsentDates(column)) return refused(markedRows(name, column, isFilled));
  const none = wordsIn({ values: column.values.filter((value) => !isNumbered(value)) });
  const other = refusalValue(name, ['yes'], ['no', ...none]);
  return { first: [refused({ [name]: { matches: NUMBERED } }), other] };
}

/** Whether a cell has a date or a word, which is not that for no. */
function isFilled(cell: string) {
  return (
    /[^\s0:.\-[\]{}"']/.test(cell) && !isMissingValue(cell) && booleanOf(cell) !== false && !isAddresses(cell)
  );
}

/** Which cells refuse e-mails, and the values that say it by the name of their column. */
interface Refusals {
  readonly test: (cell: string) => boolean;
  readonly values: (name: string) => readonly Value[];
}

/** A date, a time or the address of a computer, as a pattern of mappings. */
const NUMBERED = '[^\\p{L}]*[1-9](?:[^\\p{L}]*[0-9]){3}(?:[^\\p{L}]|[TZ])*';

/** Whether a cell has such a number, which is no code of a state: it has at least four digits. */
function isNumbered(cell: string) {
  const digits = cell.replaceAll(/\D/g, '').replace(/^0+/, '');
  return digits.length > 3 && !/[^\P{L}tz]/iu.test(cell);
}

/** What a column says by words that refuse; `general`: whether yes and no are words of it in all spellings. */
function wordRefusals(
  column: SampledColumn,
  refuses: (cell: string) => boolean,
  general: boolean,
  isBlankNo = false,
): Refusals {
  const all = wordsIn(column);
  const numbered = all.filter((word) => isNumbered(word) && !refuses(word));
  const written = (isNo: boolean) => {
    const plain = general ? [isNo ? 'no' : 'yes'] : [];
    const own = all.filter((word) => !numbered.includes(word) && refuses(word) === isNo);
    // The words of the file are the first that a rejection names.
    return [...new Set([...own.filter((word) => !general || booleanOf(word) !== !isNo), ...plain])];
  };
  const [no, others] = [written(true), written(false)];
  // Of addresses and sentences there are always others.
  const isOpen = all.length - numbered.length > MAX_STATES || others.some(isWordless);
  return {
    test: (cell) => (cell === '' ? isBlankNo : refuses(cell)),
    values: (name) => {
      const off = (words: string[]): Value => ({ value: { const: false }, when: { [name]: words } });
      const blank = isBlankNo ? ['blank'] : [];
      if (isOpen) return [off([...blank, ...no])];
      const known = refusalValue(name, no, others, numbered.length > 0);
      return isBlankNo ? [off(blank), known] : [known];
    },
  };
}

/** Which cells of a column refuse e-mails, and what says it; undefined if the column says nothing about e-mails. */
function refusalsOf(column: SampledColumn): Refusals | undefined {
  const says = (...concepts: readonly Concept[]) =>
    isCalled(column, ...concepts) || isMentioned(column, ...concepts);
  const isOther = hasWord(column.header, 'otherChannels') && !isMentioned(column, 'email');
  const isUnnamed = !isOther && column.reading.meanings.length === 0;
  const isUnknown = isUnnamed && (areFlags(column) || areUnnamedDates(column));
  const isText = isUnnamed && column.values.some((value) => /\p{L}/u.test(value));
  const isSparse = column.values.length * 2 <= column.cells.length;
  // Not a number of orders: Order no.
  const [, ...before] = wordsOfHeader(column.header).toReversed();
  // Marks or texts below an unknown header that negates, or has a part of a word for it: no further e-mails, Kontaktsperre.
  const isRefusing =
    ((isUnknown || isText) && hasPart(column.header, 'refusing')) ||
    (isUnknown && hasWord(column.header, 'negations')) ||
    (isText && isSparse && hasWord(before.join(' '), 'negations'));
  if (says('unsubscribed', 'refused', 'ended') || isRefusing) {
    return { test: isFilled, values: (name) => [refusedWhereFilled(name, column)] };
  }
  if (isOther || column.values.length === 0) return undefined;
  const isConsent =
    says('confirmed') ||
    isCalled(column, 'subscribed') ||
    (column.reading.meanings.length === 0 && hasPart(column.header, 'agreeing'));
  if (isConsent || says('subscribed', 'joined') || (isUnknown && isMentioned(column, 'email'))) {
    const read = readerOfFlags(column);
    const isBlankNo = says('confirmed') && (areFlags(column) || column.values.some(isAgreed));
    const isCount = (cell: string) => /^\d+$/.test(cell) && hasWord(column.header, 'orders');
    const isUnclear = (cell: string) => (isConsent ? !isAgreed(cell) && !isCount(cell) : isElsewhere(cell));
    const isNo = (cell: string) => read(cell) === false || isRefusal(cell) || isUnclear(cell);
    return wordRefusals(column, isNo, true, isBlankNo);
  }
  const isNamed = column.reading.meanings.length > 0 && !isCalled(column, 'tags', 'note');
  const isPlain = column.values.every((value) => booleanOf(value) !== undefined);
  return isNamed || isPlain ? undefined : statesOf(column);
}

/** Which cells of a column have a state that refuses e-mails, alone or in a list. */
function statesOf(column: SampledColumn): Refusals {
  const isNote = isCalled(column, 'tags', 'note');
  const refuses = (part: string) => isRefusal(part) || (isNote && refusesNews(part));
  const cells = [...new Set(column.values)].filter((cell) => listed(cell).some(refuses));
  if (!isNote && cells.every((cell) => listed(cell).length < 2))
    return wordRefusals(column, isRefusal, false);
  const states = { contains: cells.flatMap(listed).filter(refuses) };
  const refusing = new Set(cells);
  return {
    test: (cell) => refusing.has(cell),
    values: (name) => [{ value: { const: false }, when: { [name]: states } }],
  };
}

/** Whether a sentence negates, or has a part of a word for it, beside a word for e-mails or newsletters: wil geen nieuwsbrief. */
function refusesNews(text: string) {
  const about = wordsAboutEmails();
  return (
    (hasWord(text, 'negations') || hasPart(text, 'refusing')) &&
    wordsOfHeader(text).some((word) => about.has(word) || about.has(word.slice(0, -1)))
  );
}

let aboutEmails: ReadonlySet<string> | undefined;

/** The headers of one word for an e-mail address and for who gets e-mails. */
function wordsAboutEmails() {
  const { email, subscribed } = words().headers.contacts;
  aboutEmails ??= new Set(
    [...Object.values(email), ...Object.values(subscribed)].flatMap((written) =>
      [...written].map(wordsOfHeader).flatMap(([only = '', second]) => (second === undefined ? [only] : [])),
    ),
  );
  return aboutEmails;
}

function listed(cell: string): readonly string[] {
  const parts = cell.split(/(?:[[\]",;|/\n]|(?<!\p{L})'|'(?!\p{L})|[.!?] )+/u).map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

function isDate(cell: string) {
  return areDates({ values: [cell] });
}

/** Whether a cell has no words: a date, or the address of a computer, a page or a person. */
function isWordless(cell: string) {
  return (
    isNumbered(cell) ||
    isDate(cell) ||
    /^[\da-f]*:[\da-f:.]+$/i.test(cell) ||
    isEmail(cell) ||
    isAddresses(cell)
  );
}

/** Whether a cell in a column about consent agrees, by its only word or by the first ones of a sentence, or has no words. */
function isAgreed(cell: string) {
  const all = wordsOfHeader(cell).filter((word) => !/\d/.test(word));
  const isTurned = hasWord(cell, 'negations') || hasWord(cell, 'otherChannels');
  return (
    isWordless(cell) ||
    booleanOf(cell) === true ||
    isMark(cell) ||
    readContactHeader(cell).meanings.some(
      ({ concept, how }) => how === 'exact' && (concept === 'subscribed' || concept === 'confirmed'),
    ) ||
    (all.length === 1 && hasBeginning(cell, 'agreeing')) ||
    (!isTurned && isCellWord(all.slice(0, 2).join(' '), 'agreed'))
  );
}

/** Whether a cell names nothing, or only other ways than e-mail, or begins with not: none, SMS and phone. */
function isElsewhere(cell: string) {
  const all = wordsOfHeader(cell).filter((word) => !hasWord(word, 'links'));
  return (
    hasWord(all[0] ?? '', 'negations') ||
    (all.length > 0 && all.every((word) => hasWord(word, 'otherChannels')))
  );
}

/** Whether a state of a contact refuses e-mails: Hard-Bounce, cleaned (2x), but not never bounced. */
function isRefusal(state: string) {
  return hasPhrase(state, 'refusals');
}
