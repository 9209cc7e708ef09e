import { createRequire } from 'node:module';
import { z } from 'zod';
import { isTimezone } from '../../model/clock.ts';
import { addProblem, optional } from '../../model/json-object.ts';
import { isHttpUrl } from '../../model/remote-address.ts';
import { placeholder } from '../yaml-text.ts';

/** Any moment is suitable: an expression that never matches has no next time. */
const SOME_MOMENT = new Date(0);

/** Loaded with the first schedule, because it loads a calendar and most commands need no schedule. */
export function cronParser(): typeof import('cron-parser').CronExpressionParser {
  const parser: typeof import('cron-parser') = createRequire(import.meta.url)('cron-parser');
  return parser.CronExpressionParser;
}

function whyNotCron(expression: string): string | undefined {
  const fields = expression.trim().split(/\s+/);
  if (!expression.trim().startsWith('@') && fields.length !== 5 && fields.length !== 6) {
    const count = fields.length === 1 && fields[0] === '' ? 0 : fields.length;
    return `it has ${count} ${count === 1 ? 'field' : 'fields'}`;
  }
  try {
    cronParser().parse(expression, { currentDate: SOME_MOMENT, tz: 'UTC' }).next();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
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

/** The ends of a run that can send a notification, in words. */
export const NOTIFY_WORDS = {
  failed: 'when a run fails',
  stopped: 'when a safety limit stops a run',
  rejects: 'when a run ends with rejects',
  done: 'when a run is done',
} as const;

const STORE_EXPECTED = 'expected the name of a store in stores.yaml';

const notifySchema = z.strictObject({
  url: z
    .string()
    .refine((url) => url === '' || isHttpUrl(url), 'expected an http or https address, or nothing')
    .meta({
      description: 'The webhook that receives a short text and the summary as JSON. Empty: no notification.',
      examples: [placeholder('OPS_WEBHOOK', '')],
    }),
  on: z
    .array(z.enum(['failed', 'stopped', 'rejects', 'done']))
    .default(['failed', 'stopped', 'rejects'])
    .describe(`When to send one. ${valueWords(NOTIFY_WORDS)}`),
});

/** The values of a setting with their words, for its description: `` `first`: uses the first copy. `` */
export function valueWords(words: Readonly<Record<string, string>>): string {
  return Object.entries(words)
    .map(([value, meaning]) => `\`${value}\`: ${meaning}.`)
    .join(' ');
}

/** The keys that jobs of either kind have. */
export const jobFields = {
  store: z.string(STORE_EXPECTED).min(1, STORE_EXPECTED).describe('The store, by its name in `stores.yaml`.'),
  schedule: optional(scheduleSchema, 'When workers run the job. Default: never; start it by hand.'),
  notify: optional(notifySchema, 'Where to send a notification when a run ends.'),
};
