import { z } from 'zod';
import { isTimezone } from '../../model/clock.ts';
import { optional } from '../../model/json-object.ts';
import { Moment, refuse } from '../values/cell.ts';
import { defineTransform, type Step, type TransformContext, textStep } from './define-transform.ts';

const DAY_MS = 86_400_000;
const FIELDS = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const;

/** The parts of a date as they are in the text. */
interface DateParts {
  /** In the order of `FIELDS`. */
  readonly numbers: readonly number[];
  readonly hasTime: boolean;
  /** Minutes east of Greenwich, if the text has them. */
  readonly offset: number | undefined;
}

type Field = (typeof FIELDS)[number] | 'am/pm';

const TOKENS: Readonly<Record<string, Field>> = {
  yyyy: 'year',
  yy: 'year',
  MM: 'month',
  M: 'month',
  dd: 'day',
  d: 'day',
  HH: 'hour',
  H: 'hour',
  hh: 'hour',
  h: 'hour',
  mm: 'minute',
  ss: 'second',
  a: 'am/pm',
};

const ISO =
  /^([0-9]{4})-?([0-9]{2})-?([0-9]{2})(?:[T ]([0-9]{2}):?([0-9]{2})(?::?([0-9]{2})(?:[.,][0-9]+)?)?)?\s*(Z|[+-][0-9]{2}:?[0-9]{2})?$/i;

type Reader = (text: string) => DateParts | undefined;

/** A reader for a date format of the mapping; undefined if the format lacks a year, a month or a day. */
function dateReader(format: string): Reader | undefined {
  if (format === 'iso') return readIso;
  const fields: Field[] = [];
  const source = format.replaceAll(/yyyy|yy|MM|M|dd|d|HH|H|hh|h|mm|ss|a|[^a-zA-Z]+|[a-zA-Z]/g, (token) => {
    const field = TOKENS[token];
    if (field === undefined) {
      return token.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/\s+/g, '\\s+');
    }
    fields.push(field);
    if (field === 'am/pm') return '([AaPp][Mm])';
    return `([0-9]{${token.length === 1 ? '1,2' : token.length}})`;
  });
  if (!(['year', 'month', 'day'] as const).every((field) => fields.includes(field))) return undefined;
  const pattern = new RegExp(`^${source}$`);
  return (text) => {
    const found = pattern.exec(text);
    return found === null ? undefined : partsOf(fields, found.slice(1));
  };
}

/** A year below 100 is 20yy. */
function partsOf(fields: readonly Field[], texts: readonly string[]): DateParts {
  const numbers = new Map(fields.map((field, index) => [field, texts[index] ?? '']));
  const read = (field: Field) => Number(numbers.get(field) ?? 0);
  const half = numbers.get('am/pm')?.toLowerCase();
  const hour = half === undefined ? read('hour') : (read('hour') % 12) + (half === 'pm' ? 12 : 0);
  const year = read('year') < 100 ? read('year') + 2000 : read('year');
  const all = [year, read('month'), read('day'), hour, read('minute'), read('second')];
  return { numbers: all, hasTime: numbers.has('hour'), offset: undefined };
}

function readIso(text: string): DateParts | undefined {
  const found = ISO.exec(text);
  if (found === null) return undefined;
  const numbers = found.slice(1, 7).map((part) => Number(part ?? 0));
  return { numbers, hasTime: found[4] !== undefined, offset: offsetMinutes(found[7]) };
}

function offsetMinutes(zone: string | undefined) {
  if (zone === undefined) return undefined;
  if (zone.toUpperCase() === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return zone.startsWith('-') ? -minutes : minutes;
}

function momentOf({ numbers, hasTime, offset }: DateParts, timezone: string) {
  const [year = 0, month = 0, ...rest] = numbers;
  const utc = Date.UTC(year, month - 1, ...rest);
  // A month, day, hour, minute or second that does not exist is counted into the next.
  const back = Number.isNaN(utc) ? [] : new Date(utc).toISOString().match(/\d+/g)?.map(Number);
  if (!numbers.every((number, index) => number === back?.[index])) return undefined;
  const momentAt = (wall: number) =>
    offset === undefined ? zonedTime(wall, timezone) : wall - offset * 60_000;
  return new Moment(momentAt(utc), hasTime ? undefined : () => momentAt(utc + DAY_MS));
}

/**
 * The moment, in milliseconds since the epoch, at which clocks in the time zone show what UTC clocks show at
 * `wallTime`, for the first time. A time that they skip is as much later: midnight is when the day begins.
 */
function zonedTime(wallTime: number, timezone: string) {
  if (timezone === 'UTC') return wallTime;
  const before = wallTime - offsetAt(wallTime - DAY_MS, timezone);
  const after = wallTime - offsetAt(wallTime + DAY_MS, timezone);
  const isShown = (moment: number) => moment + offsetAt(moment, timezone) === wallTime;
  return before === after || isShown(before) || !isShown(after) ? before : after;
}

const zoneFormats = new Map<string, Intl.DateTimeFormat>();

function offsetAt(time: number, timezone: string) {
  let format = zoneFormats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    zoneFormats.set(timezone, format);
  }
  const parts = new Map<string, string>(format.formatToParts(time).map(({ type, value }) => [type, value]));
  const [year = 0, month = 0, ...rest] = FIELDS.map((field) => Number(parts.get(field) ?? 0));
  const shown = Date.UTC(year, month - 1, ...rest);
  return shown - Math.floor(time / 1000) * 1000;
}

/** Reads a date in the first format that fits; days that do not exist (31 February) fit none. */
function dateStep(
  readers: readonly Reader[],
  expected: string,
  timezone: string,
  quote: (text: string) => string,
): Step {
  return textStep((text) => {
    for (const reader of readers) {
      const parts = reader(text);
      const moment = parts === undefined ? undefined : momentOf(parts, timezone);
      if (moment !== undefined) return moment;
    }
    return refuse('not-a-date', `${quote(text)} is not a date; expected ${expected}`);
  }, 'date');
}

/** A step that reads dates in ISO form, in UTC if they name no zone. */
export function isoDateStep(expected: string, quote: (text: string) => string): Step {
  return dateStep([readIso], expected, 'UTC', quote);
}

const options = z.strictObject({
  formats: optional(
    z.array(z.string().min(1)).min(1),
    'Tried in order: `iso`, or yyyy yy MM M dd d HH H hh h mm ss a with separators.',
  ),
  timezone: optional(z.string(), 'Of dates without a zone. Default: UTC.'),
});

/** `date`: reads a date, or a date with a time. */
export const date = defineTransform({
  name: 'date',
  word: {
    description: 'Reads a date, with or without time, in ISO form; UTC where it names no zone.',
    compile: ({ quote }) => isoDateStep('iso', quote),
  },
  map: {
    shape: { date: options.describe('As `date`, with options.') },
    compile: ({ date: written }, context) => compileDate(written, context),
  },
  examples: [
    { cell: '2024-05-01', steps: 'date', gives: { moment: '2024-05-01T00:00:00Z' } },
    { cell: '2024-02-31', steps: 'date', gives: { rejects: 'not-a-date' } },
    {
      cell: '1/5/2024',
      steps: '{ date: { formats: [d/M/yyyy], timezone: Europe/Rome } }',
      gives: { moment: '2024-04-30T22:00:00Z' },
    },
  ],
});

function compileDate(
  written: z.infer<typeof options>,
  { argument, complain, quote }: TransformContext,
): Step {
  const formats = (written.formats ?? ['iso']).map((format, index) =>
    argument(['date', 'formats', index], format),
  );
  const readers = formats.flatMap((format, index) => {
    const reader = dateReader(format);
    if (reader !== undefined) return [reader];
    complain(['date', 'formats', index], `'${format}' lacks a year, a month or a day`);
    return [];
  });
  const timezone = argument(['date', 'timezone'], written.timezone ?? 'UTC');
  if (!isTimezone(timezone)) {
    complain(['date', 'timezone'], `'${timezone}' is not a time zone; expected one such as Europe/Rome`);
  }
  return dateStep(readers, formats.join(' or '), timezone, quote);
}
