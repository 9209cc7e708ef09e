import { createRequire } from 'node:module';
import { z } from 'zod';
import { isTimezone } from '../../model/is-timezone.ts';

/** Any moment serves: an expression that names no time at all fails whenever it is asked for the next one. */
const SOME_MOMENT = new Date(0);

const require = createRequire(import.meta.url);

/** Loaded with the first schedule: it brings a calendar along, and most commands meet no schedule. */
function cronParser(): typeof import('cron-parser') {
  return require('cron-parser');
}

function whyNotCron(expression: string): string | undefined {
  const fields = expression.trim().split(/\s+/);
  if (!expression.trim().startsWith('@') && fields.length !== 5 && fields.length !== 6) {
    return `it has ${fields.length === 1 && fields[0] === '' ? 0 : fields.length} fields`;
  }
  try {
    cronParser().CronExpressionParser.parse(expression, { currentDate: SOME_MOMENT, tz: 'UTC' }).next();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const cronSchema = z.string().superRefine((expression, context) => {
  const why = whyNotCron(expression);
  if (why !== undefined) {
    context.addIssue({
      code: 'custom',
      message: `expected five cron fields (minute hour day month weekday), or six with seconds first (${why})`,
    });
  }
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
