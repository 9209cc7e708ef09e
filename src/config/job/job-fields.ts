import { createRequire } from 'node:module';
import { z } from 'zod';
import { isTimezone } from '../../model/clock.ts';
import { addProblem, namesOf, onlyKey, optional } from '../../model/json-object.ts';
import { isHttpUrl } from '../../model/remote-address.ts';
import type { NotifiedCondition } from '../../model/run.ts';
import { messageOf } from '../../model/storeferry-error.ts';
import type { SecretField } from '../settings.ts';
import { placeholder } from '../yaml-text.ts';

/** Any moment is suitable: an expression that never matches has no next time. */
const SOME_MOMENT = new Date(0);

/** Loaded with the first schedule, because it loads a calendar and most commands need no schedule. */
export function cronParser(): typeof import('cron-parser').CronExpressionParser {
  const parser: typeof import('cron-parser') = createRequire(import.meta.url)('cron-parser');
  return parser.CronExpressionParser;
}

function whyNotCron(expression: string) {
  const fields = expression.trim().split(/\s+/);
  if (!expression.trim().startsWith('@') && fields.length !== 5 && fields.length !== 6) {
    const count = fields.length === 1 && fields[0] === '' ? 0 : fields.length;
    return `it has ${count} ${count === 1 ? 'field' : 'fields'}`;
  }
  try {
    cronParser().parse(expression, { currentDate: SOME_MOMENT, tz: 'UTC' }).next();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const cronSchema = z.string().superRefine((expression, context) => {
  const why = whyNotCron(expression);
  if (why === undefined) return;
  addProblem(
    context,
    `expected five cron fields (minute hour day month weekday), or six with seconds first (${why})`,
  );
});

const timezoneSchema = z.string().superRefine((name, context) => {
  if (isTimezone(name)) return;
  context.addIssue({
    code: 'custom',
    message: 'expected the name of a time zone, such as Europe/London or UTC',
    params: { choices: Intl.supportedValuesOf('timeZone') },
  });
});

/** When workers run a job. */
export const scheduleSchema = z.strictObject({
  cron: cronSchema.meta({
    description: 'Cron expression: minute, hour, day, month, weekday; six fields begin with seconds.',
    examples: ['15 2 * * *'],
  }),
  timezone: timezoneSchema.default('UTC').meta({
    description: 'The name of the time zone that the expression is in.',
    examples: ['Europe/London'],
  }),
});

/** What can be notified, in words. */
export const NOTIFY_WORDS: Readonly<Record<NotifiedCondition, string>> = {
  failed: 'when a run fails',
  stopped: 'when a safety limit stops a run',
  rejects: 'when a run ends with rejects',
  held: 'when records are held',
  edited: 'when records were edited in the store',
  drift: 'when a comparison finds differences',
  missed: 'when a scheduled run does not start in time',
  done: 'when a run is done',
  weekly: 'once per week, with what lists of subscribers have become',
};

/** What is notified where a recipient does not say it. */
export const USUALLY_NOTIFIED: readonly NotifiedCondition[] = ['failed', 'stopped', 'rejects'];

/** How often, in words; the default first. */
export const WHEN_WORDS = {
  always: 'each time',
  change: 'the first time, and once more when it is over',
} as const;

const STORE_EXPECTED = 'expected the name of a store in stores.yaml';

/** The name of a store in a job. */
export const storeName = z.string(STORE_EXPECTED).min(1, STORE_EXPECTED);

const webAddress = (description: string, variable: string) =>
  optional(
    z
      .string()
      .refine((url) => url === '' || isHttpUrl(url), 'expected an http or https address, or nothing')
      .meta({ examples: [placeholder(variable, '')] }),
    description,
  );

const mailAddress = z
  .string()
  .regex(/^[^\s@<>,;]+@[^\s@<>,;]+$/, 'expected an e-mail address, such as ops@shop.example');

const recipientFields = {
  url: webAddress(
    'A webhook, which gets a text and the summary as JSON. Empty: no notification.',
    'OPS_WEBHOOK',
  ),
  secret: optional(z.string().min(1), 'With `url`: the key of the signature.'),
  slack: webAddress('An incoming webhook of Slack.', 'SLACK_WEBHOOK'),
  teams: webAddress('A webhook of a workflow in Microsoft Teams.', 'TEAMS_WEBHOOK'),
  email: optional(
    z.union([mailAddress, z.array(mailAddress).min(1)]),
    'One or several e-mail addresses. A report is attached, if there is one.',
  ),
  server: optional(
    z
      .string()
      .refine(
        (url) => url === '' || /^smtps?:\/\/[^/\s]+\/?$/.test(url),
        'expected an address such as smtps://user:password@mail.example',
      )
      .meta({ examples: [placeholder('SMTP_URL')] }),
    'With `email`: the mail server, over TLS except on this machine. Empty: no notification.',
  ),
  from: optional(mailAddress, 'With `email`: the sender.'),
  on: z
    .array(z.enum(namesOf(NOTIFY_WORDS)))
    .default([...USUALLY_NOTIFIED])
    .describe(`What to notify. ${valueWords(NOTIFY_WORDS)}`),
  when: z
    .enum(namesOf(WHEN_WORDS))
    .default('always')
    .describe(`How often. ${valueWords(WHEN_WORDS)}`),
};
type WrittenRecipient = z.infer<z.ZodObject<typeof recipientFields>>;
/** The keys with an address; the others say more about it. */
type RecipientKind = Exclude<keyof WrittenRecipient, 'secret' | 'server' | 'from' | 'on' | 'when'>;

/** Which keys of a recipient are secrets, and whether their values may be in the file; null: not a secret. */
export const RECIPIENT_SECRETS: Readonly<Record<keyof WrittenRecipient, SecretField['literal'] | null>> = {
  url: 'allowed',
  secret: 'refused',
  slack: 'allowed',
  teams: 'allowed',
  email: null,
  server: 'refused',
  from: null,
  on: null,
  when: null,
};

type Recipient =
  | { readonly kind: 'url'; readonly address: string; readonly secret?: string }
  | { readonly kind: 'slack'; readonly address: string }
  | { readonly kind: 'teams'; readonly address: string }
  | {
      readonly kind: 'email';
      readonly address: readonly string[];
      readonly server: string;
      readonly from: string;
    };

/** A recipient of notifications, and what it is notified of. */
export type Notify = Recipient & {
  readonly on: readonly NotifiedCondition[];
  readonly when: keyof typeof WHEN_WORDS;
};

/** The recipient of each kind, as written; undefined without an address, or a mail server where it needs one. */
const RECIPIENTS: {
  readonly [Kind in RecipientKind]: (
    written: WrittenRecipient,
  ) => Extract<Recipient, { readonly kind: Kind }> | undefined;
} = {
  url: ({ url, secret }) =>
    url ? { kind: 'url', address: url, ...(secret !== undefined && { secret }) } : undefined,
  slack: ({ slack }) => (slack ? { kind: 'slack', address: slack } : undefined),
  teams: ({ teams }) => (teams ? { kind: 'teams', address: teams } : undefined),
  email: ({ email, server, from }) =>
    email !== undefined && server && from !== undefined
      ? { kind: 'email', address: [email].flat(), server, from }
      : undefined,
};
const RECIPIENT_KINDS = namesOf(RECIPIENTS);

const recipientSchema = z.strictObject(recipientFields).superRefine((recipient, context) => {
  onlyKey(recipient, RECIPIENT_KINDS, context);
  for (const key of ['server', 'from'] as const) {
    if (recipient.email !== undefined && recipient[key] === undefined)
      addProblem(context, `\`email\` needs \`${key}\``);
    if (recipient.email === undefined && recipient[key] !== undefined)
      addProblem(context, `\`${key}\` is for \`email\``, key);
  }
  if (recipient.secret !== undefined && recipient.url === undefined)
    addProblem(context, '`secret` is for `url`', 'secret');
});

const notifySchema = z.union([recipientSchema, z.array(recipientSchema).min(1)]);

export const WEEKLY_PROBLEM = '`on: weekly` is for an export of subscriber lists that appends to a file';

/** Whether a recipient of a job asks for the weekly summary. */
export function wantsWeekly(written: z.infer<typeof notifySchema> | undefined): boolean {
  return [written ?? []].flat().some(({ on }) => on.includes('weekly'));
}

/** The recipients that a job names, without those with an empty address or mail server; undefined for none. */
export function recipientsOf(
  written: z.infer<typeof notifySchema> | undefined,
): readonly Notify[] | undefined {
  const recipients = [written ?? []].flat().flatMap((one) =>
    RECIPIENT_KINDS.flatMap((kind): Notify[] => {
      const recipient = RECIPIENTS[kind](one);
      return recipient === undefined ? [] : [{ ...recipient, on: one.on, when: one.when }];
    }),
  );
  return recipients.length === 0 ? undefined : recipients;
}

/** The values of a setting with their words, for its description: `` `first`: uses the first copy. `` */
export function valueWords(words: Readonly<Record<string, string>>): string {
  return Object.entries(words)
    .map(([value, meaning]) => `\`${value}\`: ${meaning}.`)
    .join(' ');
}

/** The keys that jobs of either kind have. */
export const jobFields = {
  store: storeName.describe('The store, by its name in `stores.yaml`.'),
  schedule: optional(scheduleSchema, 'When workers run the job. Default: never.'),
  notify: optional(notifySchema, 'One recipient, or a list.'),
};
