import type { EditableFile, Path, YamlEdit } from '../../config/edit-file.ts';
import { NOTIFY_WORDS, type Notify, USUALLY_NOTIFIED, WHEN_WORDS } from '../../config/job/job.ts';
import { placeholder } from '../../config/yaml-text.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { capitalise } from '../../text/printable.ts';
import type { Choice } from '../pages/post-form.ts';
import { choice, type EditField, type EditGroup, type EditValues, typedField } from './edit-field.ts';

/** The variable with the mail server of the workspace, in `.env`. */
export const MAIL_SERVER = 'SMTP_URL';

const KINDS: Readonly<Record<Notify['kind'], string>> = {
  email: 'By e-mail',
  slack: 'A channel of Slack',
  teams: 'A channel of Microsoft Teams',
  url: 'A program, by a web address (webhook)',
};

const NOTIFIED_AT_FIRST: ReadonlySet<string> = new Set(USUALLY_NOTIFIED);
const OFTEN = Object.entries(WHEN_WORDS).map(([value, words]): Choice => [value, capitalise(words)]);

/** The recipients of a file; undefined where the file has them in another form: one of an unknown kind would count as removed. */
function recipientsIn(file: EditableFile): readonly object[] | undefined {
  const written = [file.at(['notify']) ?? []].flat();
  const isKnown = (one: unknown): one is object =>
    typeof one === 'object' && one !== null && kindOf(one) !== undefined;
  return written.every(isKnown) ? written : undefined;
}

function isList(file: EditableFile) {
  return Array.isArray(file.at(['notify']));
}

function kindOf(recipient: object | undefined) {
  return Object.keys(KINDS).find((kind) => recipient !== undefined && kind in recipient);
}

/** The recipients of a file, and one more. */
export function notifyGroups(file: EditableFile): readonly EditGroup[] {
  const recipients = recipientsIn(file);
  if (recipients === undefined) return [];
  const ofLists = file.at(['export']) === 'subscriber-lists';
  const isOnly = recipients.length === 1 && !isList(file);
  return [...recipients.keys(), recipients.length].map((number) => {
    const known = recipients[number];
    const at = isOnly && number === 0 ? ['notify'] : ['notify', number];
    return recipientGroup(number, at, kindOf(known), { isNew: known === undefined, ofLists });
  });
}

function recipientGroup(
  number: number,
  at: Path,
  kind: string | undefined,
  { isNew, ofLists }: { readonly isNew: boolean; readonly ofLists: boolean },
): EditGroup {
  const name = (part: string) => `notify.${number}.${part}`;
  const when = `${name('kind')}!=`;
  const ofMail = `${name('kind')}=email`;
  const typed = (part: string, label: string, hint: string, more: Partial<EditField> = {}) =>
    typedField([...at, part], label, hint, { name: name(part), when: ofMail, ...more });
  const news = Object.entries(NOTIFY_WORDS).filter(([member]) => member !== 'weekly' || ofLists);
  const members = news.map(
    ([member, words]): EditField => ({
      name: name(`on.${member}`),
      path: [...at, 'on'],
      member,
      label: `Notify: ${words}`,
      when,
      ...(NOTIFIED_AT_FIRST.has(member) && { defaultValue: 'on' }),
    }),
  );
  const server = `Such as smtps://mail.example. Written with user and password into .env, for all jobs (${MAIL_SERVER}). Blank: the one that is there.`;
  return {
    legend: isNew ? (number === 0 ? 'Notifications' : 'Another recipient') : `Recipient ${number + 1}`,
    rare: true,
    hint: 'Who is notified of the results of this job.',
    fields: [
      choice(
        [...at, 'kind'],
        'How is the recipient reached?',
        [['', isNew ? 'Not at all' : 'Not any more: remove it'], ...Object.entries(KINDS)],
        { name: name('kind'), fixedValue: kind ?? '' },
      ),
      typedField(
        [...at, kind ?? 'email'],
        'Address',
        'E-mail addresses with commas between them, or the web address of the channel or program.',
        { name: name('address'), list: true, missing: 'Give the address of the recipient.', when },
      ),
      typed('from', 'Sender', 'The e-mail address that it comes from'),
      typed('mailServer', 'Mail server', server, { fixedValue: '' }),
      typed('mailUser', 'User of the mail server', 'If it asks for one', { fixedValue: '' }),
      typed('mailPassword', 'Password of the mail server', 'Never shown again', {
        fixedValue: '',
        secret: true,
      }),
      choice([...at, 'when'], 'How often', OFTEN, { name: name('when'), when }),
      ...members,
    ],
  };
}

/** What must change in a file so that it has the wanted recipients. */
export function notifyEdits(file: EditableFile, now: EditValues, wanted: EditValues): readonly YamlEdit[] {
  const recipients = recipientsIn(file);
  if (recipients === undefined) return [];
  const value = (number: number, part: string) => wanted[`notify.${number}.${part}`] ?? '';
  const isChanged = (number: number) =>
    Object.keys(wanted).some((name) => name.startsWith(`notify.${number}.`) && now[name] !== wanted[name]);
  const kept = [...recipients.keys()].filter((number) => value(number, 'kind') !== '');
  const isAdding = value(recipients.length, 'kind') !== '';
  const removed = [...recipients.keys()].filter((number) => !kept.includes(number));
  if (removed.length === 0 && !isAdding && !kept.some(isChanged)) return [];
  if (kept.length === 0 && !isAdding) return [{ set: ['notify'], to: undefined }];
  const isWhole = recipients.length === 0;
  const becomesList = !isWhole && isAdding && !isList(file);
  const inList = isList(file) || becomesList;
  const at = (number: number): Path => (inList ? ['notify', number] : ['notify']);
  const whole = (number: number): YamlEdit[] => [
    { set: at(number), value: recipientOf((part) => value(number, part)) },
    ...serverEdits(at(number), value(number, 'kind') === 'email'),
  ];
  return withoutAbsent([
    becomesList && { list: 'notify' },
    ...kept.filter(isChanged).flatMap((number): readonly YamlEdit[] => {
      const kind = value(number, 'kind');
      if (kind !== kindOf(recipients[number])) return whole(number);
      const differs = (part: string) => value(number, part) !== (now[`notify.${number}.${part}`] ?? '');
      const addresses = listOf(value(number, 'address'));
      return withoutAbsent<YamlEdit>([
        differs('address') &&
          (kind === 'email'
            ? { set: [...at(number), kind], value: addresses }
            : { set: [...at(number), kind], to: value(number, 'address') }),
        differs('from') && { set: [...at(number), 'from'], to: value(number, 'from') || undefined },
        differs('when') && { set: [...at(number), 'when'], to: value(number, 'when') },
        Object.keys(NOTIFY_WORDS).some((member) => differs(`on.${member}`)) && {
          set: [...at(number), 'on'],
          value: chosenNews((part) => value(number, part)),
        },
        ...serverEdits(at(number), kind === 'email' && value(number, 'mailServer') !== ''),
      ]);
    }),
    ...(isAdding ? whole(recipients.length) : []),
    ...removed.toReversed().map((number) => ({ set: ['notify', number], to: undefined })),
  ]);
}

function serverEdits(at: Path, isWanted: boolean): readonly YamlEdit[] {
  return isWanted ? [{ set: [...at, 'server'], template: placeholder(MAIL_SERVER) }] : [];
}

function listOf(typed: string): readonly string[] {
  return typed.split(',').flatMap((one) => one.trim() || []);
}

/** Of what a recipient is notified. */
function chosenNews(value: (part: string) => string): readonly string[] {
  return Object.keys(NOTIFY_WORDS).filter((member) => value(`on.${member}`) === 'on');
}

/** A recipient without its mail server, which comes from the environment. */
function recipientOf(value: (part: string) => string): object {
  const kind = value('kind');
  return {
    [kind]: kind === 'email' ? listOf(value('address')) : value('address'),
    ...(kind === 'email' && value('from') !== '' && { from: value('from') }),
    on: chosenNews(value),
    ...(value('when') === 'change' && { when: 'change' }),
  };
}

/** The mail server that was typed, with user and password; undefined if none was, null if it is no address of one. */
export function typedMailServer(wanted: EditValues): string | null | undefined {
  const [name] = Object.keys(wanted).filter(
    (one) => /^notify\.\d+\.mailServer$/.test(one) && wanted[one] !== '' && wanted[one] !== undefined,
  );
  if (name === undefined) return undefined;
  const start = name.slice(0, -'mailServer'.length);
  const address = wanted[name] ?? '';
  const whole = address.includes('://') ? address : `smtps://${address}`;
  if (!/^smtps?:\/\/[^/\s]+\/?$/.test(whole) || !URL.canParse(whole)) return null;
  const url = new URL(whole);
  const [user = '', password = ''] = [wanted[`${start}mailUser`], wanted[`${start}mailPassword`]];
  if (user !== '') url.username = encodeURIComponent(user);
  if (password !== '') url.password = encodeURIComponent(password);
  return url.href;
}
