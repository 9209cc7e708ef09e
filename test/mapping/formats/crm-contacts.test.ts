import { expect, it } from 'vitest';
import { storeListsTable } from '../../../src/mapping/lookup-table.ts';
import { mapAll, parseCsv, shippedMapping, table } from '../mapping-setup.ts';

/** Contacts whose ids a crosswalk by e-mail knows. */
const IDS = new Map([
  ['ada@mail.example', 1],
  ['bo@mail.example', 2],
  ['cy@mail.example', 3],
]);

/** An export as somebody would have it, made up; what becomes of it where a job names the list News (4). */
interface Export {
  readonly mapping: string;
  readonly text: string;
  readonly becomes: readonly string[];
  /** The line of who has merely not opted out, where the job says that such people have agreed. */
  readonly optedIn?: string;
}

const EXPORTS: readonly Export[] = [
  {
    mapping: 'hubspot-contacts',
    text: `Record ID,First Name,Last Name,Email,Phone Number,City,Company Name,Unsubscribed from all email,Company name,Phone Number,City,Lifecycle Stage
101,Ada,"Marsh, PhD",Ada@Mail.example,(0117) 496,Bath,,No,Mill Ltd,999,York,Lead
102,Bo,,mailto:bo@mail.example,,,,TRUE,,,,
103,Cy,,cy at mail,,,,,,,,
104,Di,,di@mail.example,,,,,,,,`,
    becomes: [
      '1: Ada Marsh, PhD, ada@mail.example, (0117) 496, Bath, Mill Ltd, lists 4, Lifecycle Stage=Lead',
      '2: Bo, bo@mail.example, unsubscribed',
      'rejected not-an-email',
      'rejected crosswalk-no-match',
    ],
    optedIn:
      '1: Ada Marsh, PhD, ada@mail.example, (0117) 496, Bath, Mill Ltd, subscribed, lists 4, Lifecycle Stage=Lead',
  },
  {
    mapping: 'salesforce-contacts',
    text: `Id,IsDeleted,FirstName,LastName,Email,Phone,MailingStreet,MailingCity,OtherStreet,OtherCity,HasOptedOutOfEmail,Title
003Ab00000xYzAbCDE,0,Ada,Marsh,ada@mail.example,0117 496,,,"1 Mill
Lane",Bath,0,Baker
003Ab00000xYzAbCDF,1,Bo,Bell,bo@mail.example,,,,,,0,
003Ab00000xYzAbCDG,0,,Cole,cy@mail.example,,2 Quay,Ely,9 Old,York,1,`,
    becomes: [
      '1: Ada Marsh, ada@mail.example, 0117 496, 1 Mill, Lane, Bath, lists 4, Job Title=Baker',
      'skipped is-in-salesforces-recycle-bin',
      '3: Cole, cy@mail.example, 2 Quay, Ely, unsubscribed',
    ],
    optedIn:
      '1: Ada Marsh, ada@mail.example, 0117 496, 1 Mill, Lane, Bath, subscribed, lists 4, Job Title=Baker',
  },
  {
    mapping: 'google-contacts',
    text: `First Name,Middle Name,Last Name,Organization Name,Labels,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value,Phone 1 - Label,Phone 1 - Value,Custom Field 1 - Label,Custom Field 1 - Value
Ada,M.,Marsh,Mill Ltd,Friends ::: * myContacts,Home,old@mail.example,* Work,ada@mail.example,,0117 ::: 0118,Shoe size,39
,,,,* myContacts,,bo@mail.example,,,,,,
Zed,,,,* myContacts,,,,,,,,`,
    becomes: [
      '1: Ada M. Marsh, ada@mail.example, 0117, Mill Ltd, lists 4, tags Friends, All E-mails=old@mail.example, ada@mail.example, All Phones=0117, 0118, Shoe size=39',
      '2: bo@mail.example, lists 4',
      'rejected crosswalk-nothing-to-match',
    ],
  },
  {
    mapping: 'outlook-contacts',
    text: `First Name,Last Name,Company,Business Street,Business City,Home Street,Home City,Business Phone,Mobile Phone,Birthday,Categories,E-mail Address,E-mail 2 Address
Ada,Marsh,Mill Ltd,,,1 Lane,Bath,,0799,0/0/00,VIP;News,ada@mail.example,
Bo,,,2 Quay,Ely,1 Lane,Bath,0117,0799,,,,bo@mail.example`,
    becomes: [
      '1: Ada Marsh, ada@mail.example, 0799, 1 Lane, Bath, Mill Ltd, lists 4, tags VIP News, Mobile Phone=0799',
      '2: Bo, bo@mail.example, 0117, 2 Quay, Ely, lists 4, Mobile Phone=0799, E-mail 2=bo@mail.example',
    ],
  },
  {
    mapping: 'klaviyo-contacts',
    text: `Email,Klaviyo ID,First Name,Last Name,Organization,Phone Number,City,Email Marketing Consent,Email Suppressions,Date Added,Favourite colour
ada@mail.example,01H,Ada,Marsh,Mill Ltd,+44117,Bath,SUBSCRIBED,[],2024-01-01,Green
bo@mail.example,01J,Bo,,,,,SUBSCRIBED,USER_SUPPRESSED,2024-01-01,
cy@mail.example,01K,Cy,,,,,NEVER_SUBSCRIBED,,2024-01-01,`,
    becomes: [
      '1: Ada Marsh, ada@mail.example, +44117, Bath, Mill Ltd, subscribed, lists 4, Favourite colour=Green',
      '2: Bo, bo@mail.example, unsubscribed',
      '3: Cy, cy@mail.example',
    ],
  },
  {
    mapping: 'brevo-contacts',
    text: `EMAIL,NACHNAME,VORNAME,SMS,EMAIL_BLACKLISTED,SMS_BLACKLISTED,ADDED_TIME,MODIFIED_TIME,PUNKTE
ada@mail.example,Marsh,Ada,44117,No,Yes,12-04-2024 09:30,,7
bo@mail.example,,Bo,,Yes,No,12-04-2024 09:30,,
cy@mail.example,Cole,,,,,12-04-2024 09:30,,`,
    becomes: [
      '1: Ada Marsh, ada@mail.example, 44117, lists 4, PUNKTE=7',
      '2: Bo, bo@mail.example, unsubscribed',
      '3: Cole, cy@mail.example, lists 4',
    ],
    optedIn: '1: Ada Marsh, ada@mail.example, 44117, subscribed, lists 4, PUNKTE=7',
  },
  {
    mapping: 'pipedrive-contacts',
    text: `Person - ID,Person - Name,Person - Email - Work,Person - Email - Home,Person - Phone - Work,Person - Organization,Person - Labels,Person - Marketing status,Organization - Address
7,Ada Marsh,,ada@mail.example,0117,Mill Ltd,"Hot lead,VIP",Subscribed,"1 Lane
Bath"
8,Bo,bo@mail.example,x@mail.example,,,,Archived,
9,Cy,cy@mail.example,,,,,Bounced,`,
    becomes: [
      '1: Ada Marsh, ada@mail.example, 0117, 1 Lane, Bath, Mill Ltd, subscribed, lists 4, tags Hot lead VIP',
      '2: Bo, bo@mail.example',
      '3: Cy, cy@mail.example, unsubscribed',
    ],
  },
  {
    mapping: 'zoho-contacts',
    text: `Record Id,First Name,Last Name,Account Name,Email,Secondary Email,Title,Phone,Mobile,Email Opt Out,Created Time,Mailing Street,Mailing City,Mailing Zip,Tag
zcrm_1,Ada,Marsh,Mill Ltd,ada@mail.example,,Baker,,0799,false,2024-01-01 10:00:00,1 Lane,Bath,BA1,"VIP,News"
zcrm_2,,Bell,,,bo@mail.example,,,,true,2024-01-01 10:00:00,,,,
zcrm_3,,Cole,,cy@mail.example,,,,,maybe,2024-01-01 10:00:00,,,,`,
    becomes: [
      '1: Ada Marsh, ada@mail.example, 0799, 1 Lane, Bath, BA1, Mill Ltd, lists 4, tags VIP News, Job Title=Baker',
      '2: Bell, bo@mail.example, unsubscribed',
      'rejected not-a-boolean',
    ],
    optedIn:
      '1: Ada Marsh, ada@mail.example, 0799, 1 Lane, Bath, BA1, Mill Ltd, subscribed, lists 4, tags VIP News, Job Title=Baker',
  },
];

const TEXTS = ['name', 'email', 'phone', 'address', 'city', 'zip', 'companyName'] as const;

it.each(EXPORTS)('an export for $mapping becomes these contacts', async ({ mapping, text, becomes }) => {
  expect(await contactsOf(mapping, text, {})).toEqual(becomes);
});

it.each(EXPORTS.flatMap(({ optedIn, ...one }) => (optedIn === undefined ? [] : [{ ...one, optedIn }])))(
  '$mapping subscribes who has not opted out only where the job says that they have agreed',
  async ({ mapping, text, becomes: [, ...others], optedIn }) => {
    expect(await contactsOf(mapping, text, { optedIn: 'yes' })).toEqual([optedIn, ...others]);
  },
);

async function contactsOf(
  mapping: string,
  text: string,
  params: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { header, rows } = await parseCsv(text, ',');
  const cells = rows.map((row) => row.cells);
  const { mapped } = await mapAll(shippedMapping(mapping), [table(header, cells)], {
    crosswalk: { match: 'email', file: 'ids.csv', find: (value) => IDS.get(value.trim().toLowerCase()) },
    lookups: new Map([['storeLists', storeListsTable([{ id: 4, name: 'News' }], 'name')]]),
    params: { lists: 'News', ...params },
  });
  return mapped.map((one) => {
    if (one.kind !== 'record') return `${one.kind} ${one.reason.code}`;
    const { body } = one;
    if ('variants' in body) throw new Error('a product');
    const { subscribed, subscriberLists = [], tags = [], properties = [] } = body;
    return `${one.key}: ${[
      ...TEXTS.flatMap((field) => body[field] ?? []),
      ...(subscribed === undefined ? [] : [subscribed ? 'subscribed' : 'unsubscribed']),
      ...(subscriberLists.length === 0 ? [] : [`lists ${subscriberLists.join(' ')}`]),
      ...(tags.length === 0 ? [] : [`tags ${tags.join(' ')}`]),
      ...properties.map(({ name, value }) => `${name}=${value}`),
    ].join(', ')}`;
  });
}
