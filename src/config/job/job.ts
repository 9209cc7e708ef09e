import type { z } from 'zod';
import type { ContactMappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { type DeepReadonly, recordOf, withoutAbsent, withoutUndefined } from '../../model/json-object.ts';
import { CONTACT_TEXT_FIELDS, type ImportMode, type UpdateMatch } from '../../model/mapped-record.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { DAY, HOUR, looseName } from '../../text/printable.ts';
import { withoutPlace } from '../complete-places.ts';
import { once } from '../workspace-files.ts';
import type { exportJobSchema } from './export-job-schema.ts';
import type { importJobSchema } from './import-job-schema.ts';
import { cronParser, type Notify, recipientsOf, scheduleSchema } from './job-fields.ts';

export { DESTINATION_WORDS, FORMAT_WORDS, keepsHistory, misnamed } from './export-job-schema.ts';
export { DUPLICATES_WORDS, importJobSchema, MODE_WORDS } from './import-job-schema.ts';
export { NOTIFY_WORDS, type Notify, USUALLY_NOTIFIED, WHEN_WORDS } from './job-fields.ts';

/** A file in `jobs/`: what to move, when, and with which safety limits. */
export type Job = ImportJob | ExportJob;

type ImportFields = z.infer<typeof importJobSchema>;
type ExportFields = z.infer<typeof exportJobSchema>;

/** An import job with its defaults filled in. `notify` is absent if no recipient has an address. */
export type ImportJob = DeepReadonly<
  Omit<ImportFields, 'source' | 'crosswalk' | 'adopt' | 'images' | 'notify' | 'mode' | 'stores'>
> & {
  readonly mode: ImportMode;
  /** Contacts that the store lacks are created, where it can. */
  readonly createsContacts?: true;
  readonly kind: 'import';
  readonly name: string;
  readonly source: SourceSpec;
  readonly crosswalk?: CrosswalkSpec;
  readonly adopt?: 'store' | AdoptSpec;
  readonly images?: ImagesSpec;
  readonly notify?: readonly Notify[];
};

/** An export job with its defaults filled in. `notify` is absent if no recipient has an address. */
export type ExportJob = DeepReadonly<Omit<ExportFields, 'destination' | 'notify' | 'mask'>> & {
  readonly kind: 'export';
  readonly name: string;
  /** How the values of fields are masked; those with a key are hashed with it. */
  readonly mask?: Readonly<Record<string, Mask>>;
  readonly destination: Placed<ExportFields['destination']>;
  readonly notify?: readonly Notify[];
};

type Mask = 'redact' | { readonly keepLast: number } | { readonly key: string };

/** What a job says of a file, with its address completed. */
type Placed<Written extends object> = DeepReadonly<ReturnType<typeof withoutPlace<Written>>> & FilePlace;

/** A source; `encoding` is the WHATWG name. */
export type SourceSpec = Placed<ImportFields['source']>;

export type CrosswalkSpec = Placed<Exclude<NonNullable<ImportFields['crosswalk']>, 'store'>> & {
  /** It is `crosswalk: store`: the file need not be there. */
  readonly isOfStore?: true;
};

/** An export of a store, and the mapping that reads it. */
type AdoptSpec = Placed<Exclude<NonNullable<ImportFields['adopt']>, 'store'>>;

type ImageFields = NonNullable<ImportFields['images']>;

/** What is done about images, with the place of the folder that picture files are published in. */
type ImagesSpec = DeepReadonly<Omit<ImageFields, 'publish'>> & { readonly publish?: PublishSpec };

export type PublishSpec = Placed<NonNullable<ImageFields['publish']>>;

/** The crosswalk that `contacts scan` writes for a store: relative to the workspace. */
export function crosswalkOfStore(store: string) {
  return {
    path: `contacts-of-${store}.csv`,
    match: 'email',
    id: 'id',
    quotes: 'standard',
    isOfStore: true,
  } as const;
}

/** The paths of the parts of an import job that name a file to read. */
export const SOURCE_AT = ['source'];
export const CROSSWALK_AT = ['crosswalk'];
export const ADOPT_AT = ['adopt'];
export const PUBLISH_AT = ['images', 'publish'];

/** The files of this machine that an import names, with where they are written; those of its mapping are not among them. */
export function filesNamed({ source, crosswalk, adopt, images }: ImportJob) {
  const named = [
    { at: SOURCE_AT, key: 'path', path: source.path },
    { at: CROSSWALK_AT, key: 'path', path: crosswalk?.isOfStore === true ? undefined : crosswalk?.path },
    { at: ADOPT_AT, key: 'path', path: typeof adopt === 'object' ? adopt.path : undefined },
    { at: PUBLISH_AT, key: 'from', path: images?.publish?.from },
  ];
  return named.flatMap(({ at, key, path }) => (path === undefined ? [] : [{ at: [...at, key], path }]));
}

/** The mappings that an import reads files by. */
export function mappingsNamed({ mapping, adopt }: ImportJob): readonly string[] {
  return typeof adopt === 'object' ? [mapping, adopt.mapping] : [mapping];
}

/** An import job by the name of its file, reading from these places. */
export function toImportJob(
  name: string,
  { notify, source, crosswalk, adopt, images, mode, stores: _, ...fields }: ImportFields,
  placeAt: (at: readonly string[]) => FilePlace,
): ImportJob {
  return withoutUndefined<ImportJob>({
    kind: 'import',
    name,
    ...fields,
    source: { ...withoutPlace(source), ...placeAt(SOURCE_AT) },
    mode: mode ?? 'upsert',
    crosswalk:
      crosswalk === 'store'
        ? crosswalkOfStore(fields.store)
        : crosswalk && { ...withoutPlace(crosswalk), ...placeAt(CROSSWALK_AT) },
    createsContacts: crosswalk === 'store' && mode === 'upsert' ? true : undefined,
    adopt: typeof adopt === 'object' ? { ...withoutPlace(adopt), ...placeAt(ADOPT_AT) } : adopt,
    images: images && imagesOf(images, placeAt),
    notify: recipientsOf(notify),
  });
}

function imagesOf(
  { publish, ...rest }: ImageFields,
  placeAt: (at: readonly string[]) => FilePlace,
): ImagesSpec {
  return publish === undefined
    ? rest
    : { ...rest, publish: { ...withoutPlace(publish), ...placeAt(PUBLISH_AT) } };
}

/** An export job by the name of its file, writing to this place, with the key for what it hashes. */
export function toExportJob(
  name: string,
  { notify, destination, mask, ...fields }: ExportFields,
  place: FilePlace,
  key = '',
): ExportJob {
  const masks = Object.entries(mask ?? {}).map(([field, way]) => [field, way === 'hash' ? { key } : way]);
  return withoutUndefined<ExportJob>({
    kind: 'export',
    name,
    ...fields,
    destination: { ...withoutPlace(destination), ...place },
    mask: mask && Object.fromEntries(masks),
    notify: recipientsOf(notify),
  });
}

/** By what the job finds the products that it updates; undefined for all other jobs. */
export function updateMatch({ mode, match = 'url' }: ImportJob): UpdateMatch | undefined {
  return mode === 'update' ? match : undefined;
}

/** The fields of a contact by which a crosswalk may find it: those that the mapping fills, and its `match`. */
export function matchableFields(contact: ContactMappingSpec['contact']): readonly string[] {
  const filled = CONTACT_TEXT_FIELDS.filter((field) => contact[field] !== undefined);
  return [...filled, ...Object.keys(contact.match ?? {})];
}

/**
 * The field that a crosswalk's column is compared with: the one that `field` names, or the one with the same name;
 * undefined if there is none.
 */
export function crosswalkField(
  { match, field = match }: NonNullable<ImportJob['crosswalk']>,
  contact: ContactMappingSpec['contact'],
): string | undefined {
  const fields = matchableFields(contact);
  return fields.find((name) => name === field) ?? fields.find((name) => looseName(name) === looseName(field));
}

/** The schedule of a job. */
export type JobSchedule = Readonly<z.infer<typeof scheduleSchema>> & { readonly job: string };

/**
 * The first tick after a time (both in milliseconds since the epoch). An hour that occurs twice has its ticks the first time, and
 * also the second time only for a schedule of every hour.
 */
export function nextTick({ cron, timezone }: Omit<JobSchedule, 'job'>, after: number): number {
  const next = (from: number, tz: string) =>
    cronParser()
      .parse(cron, { currentDate: new Date(from), tz })
      .next()
      .getTime();
  try {
    const tick = next(after, timezone);
    const leftOut = tickInGap(next(after + offsetMs(timezone, after), 'UTC'), timezone);
    if (leftOut !== undefined && leftOut > after && leftOut < tick) return leftOut;
    const isSoon = tick - after < HOUR;
    if (!isSoon || offsetMs(timezone, after - HOUR) <= offsetMs(timezone, after)) return tick;
    // The clocks were set back: cron-parser leaves the second time out only if it is asked before it.
    let first = after - HOUR;
    while (first <= after) first = next(first, timezone);
    return first;
  } catch {
    // cron-parser 5.10 finds no tick on the day before clocks go back by half an hour (Australia/Lord_Howe). So it gets the time on
    // the wall there as if it were UTC.
    const offset = offsetMs(timezone, after);
    const wall = next(after + offset, 'UTC');
    return wall - offsetMs(timezone, wall - offset);
  }
}

/**
 * When a tick comes whose time on the wall, given as if it were UTC, the clocks leave out; undefined if they have it. cron-parser leaves out
 * the whole day where that is the hour at midnight (Africa/Cairo), or the one before it.
 */
function tickInGap(wall: number, timezone: string) {
  const moment = wall - offsetMs(timezone, wall - DAY);
  const isThere = [moment, wall - offsetMs(timezone, wall + DAY)].some(
    (one) => one + offsetMs(timezone, one) === wall,
  );
  return isThere ? undefined : moment;
}

/** To make one takes longer than to use it a hundred times. */
const offsetFormat = once(
  (timeZone) => new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }),
);

/** How far the clocks of a time zone are ahead of UTC at a time, in milliseconds. */
function offsetMs(timeZone: string, at: number) {
  const name =
    offsetFormat(timeZone)
      .formatToParts(at)
      .find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = 0, minutes = 0] = /^GMT([+-])(\d+):(\d+)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** The problem of a schedule; undefined if it is valid. */
export function whyNoSchedule(cron: string, timezone: string): string | undefined {
  return scheduleSchema.safeParse({ cron, timezone }).error?.issues[0]?.message;
}

interface ScheduleChoice {
  readonly value: string;
  readonly name: string;
}

/** When a job may run: the first question of its schedule. */
export const SCHEDULE_CHOICES: readonly ScheduleChoice[] = [
  { value: 'no', name: 'Only when somebody starts it' },
  { value: 'day', name: 'Each day' },
  { value: 'weekdays', name: 'Monday to Friday' },
  { value: 'week', name: 'Once a week' },
  { value: 'month', name: 'Once a month' },
  { value: 'often', name: 'Every few minutes or hours' },
];

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** Of several times the minutes are those of the first. */
const TIMES = /^([01]?[0-9]|2[0-3])[:.]([0-5][0-9])(?: *, *(?:[01]?[0-9]|2[0-3])[:.]\2)*$/;
const TIME_WANTED =
  'Give hours and minutes, such as 06:00. Several times have the same minutes, such as 06:15, 18:15.';

/** A further question, asked beside some of the choices. */
interface ScheduleField {
  readonly label: string;
  /** The choices beside which it is asked. */
  readonly beside: readonly string[];
  readonly defaultValue: string;
  readonly choices: readonly ScheduleChoice[];
  readonly hint?: string;
  /** The regular expression of a typed answer, and what is said of others. */
  readonly pattern?: string;
  readonly wrong?: string;
}

/** The further questions, in their order. */
export const SCHEDULE_FIELDS: Readonly<Record<ScheduleFieldName, ScheduleField>> = {
  weekday: {
    label: 'On',
    beside: ['week'],
    defaultValue: '1',
    choices: [1, 2, 3, 4, 5, 6, 0].map((day) => ({ value: String(day), name: DAYS[day] ?? '' })),
  },
  monthDay: {
    label: 'On day',
    beside: ['month'],
    defaultValue: '1',
    choices: Array.from({ length: 28 }, (_, day) => ({ value: `${day + 1}`, name: `${day + 1}` })),
  },
  time: {
    label: 'At',
    beside: ['day', 'weekdays', 'week', 'month'],
    defaultValue: '02:15',
    choices: [],
    hint: 'Hours and minutes, such as 06:00; several times with the same minutes, such as 06:15, 18:15',
    pattern: TIMES.source,
    wrong: TIME_WANTED,
  },
  every: {
    label: 'Every',
    beside: ['often'],
    defaultValue: '60',
    choices: [
      ...[5, 10, 15, 20, 30].map((minutes) => ({ value: `${minutes}`, name: `${minutes} minutes` })),
      { value: '60', name: 'hour' },
      ...[2, 3, 4, 6, 8, 12].map((hours) => ({ value: `${hours * 60}`, name: `${hours} hours` })),
    ],
  },
};

/** The names of the further questions. */
export const SCHEDULE_FIELD_NAMES = ['weekday', 'monthDay', 'time', 'every'] as const;
type ScheduleFieldName = (typeof SCHEDULE_FIELD_NAMES)[number];

/** The answers: `schedule` is a choice, or `other` for times that the fields cannot say. */
export type ScheduleTimes = Readonly<Partial<Record<'schedule' | ScheduleFieldName, string>>>;

/** Why a field cannot have a value; a sentence. */
export function whyNoTime(name: ScheduleFieldName, value: string): string | undefined {
  if (name === 'time') return hoursAndMinute(value) === undefined ? TIME_WANTED : undefined;
  return SCHEDULE_FIELDS[name].choices.some((one) => one.value === value)
    ? undefined
    : 'Choose one of the list.';
}

/** Whether a field is asked beside the choice. */
export function isAskedBeside(name: ScheduleFieldName, schedule = 'no'): boolean {
  return SCHEDULE_FIELDS[name].beside.includes(schedule);
}

/** What is wrong with the times of a schedule, by its fields. */
export function scheduleProblems(times: ScheduleTimes): ReadonlyMap<string, string> {
  const found = SCHEDULE_FIELD_NAMES.map((name) => {
    const why = isAskedBeside(name, times.schedule) ? whyNoTime(name, times[name] ?? '') : undefined;
    return why !== undefined && ([name, why] as const);
  });
  return new Map(withoutAbsent(found));
}

/** The cron expression of answers; undefined without a schedule, or if an answer is invalid. */
export function cronOf(times: ScheduleTimes) {
  const { schedule, weekday, monthDay, time, every = '' } = times;
  if (scheduleProblems(times).size > 0) return undefined;
  const at = hoursAndMinute(time ?? '');
  switch (schedule) {
    case 'day':
      return `${at} * * *`;
    case 'weekdays':
      return `${at} * * 1-5`;
    case 'week':
      return `${at} * * ${weekday}`;
    case 'month':
      return `${at} ${monthDay} * *`;
    case 'often': {
      const minutes = Number(every);
      if (minutes < 60) return `*/${minutes} * * * *`;
      return minutes === 60 ? '0 * * * *' : `0 */${minutes / 60} * * *`;
    }
    default:
      return undefined;
  }
}

/** `06:15, 18:15` as `15 6,18`. */
function hoursAndMinute(time: string) {
  const minute = TIMES.exec(time.trim())?.[2];
  if (minute === undefined) return undefined;
  const hours = time.split(',').map((one) => Number(/\d+/.exec(one)?.[0]));
  return `${Number(minute)} ${hours.join(',')}`;
}

/** The answers that give a cron expression; `other` if none do. */
export function timesOf(cron: string): ScheduleTimes {
  const written = cron
    .trim()
    .toUpperCase()
    .replaceAll(/\b0(?=\d)/g, '')
    .replaceAll(/[A-Z]{3}/g, (name) => `${DAYS.findIndex((day) => day.toUpperCase().startsWith(name))}`)
    .replace(/ 7$/, ' 0')
    .split(/\s+/);
  const [minute = '', hours = '', monthDay = '', , weekday = ''] = written;
  const clock = (hour: string) => `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  const time = hours.split(',').map(clock).join(', ');
  const usual = recordOf(SCHEDULE_FIELD_NAMES, (name) => SCHEDULE_FIELDS[name].defaultValue);
  const candidates: readonly ScheduleTimes[] = [
    ...SCHEDULE_FIELDS.every.choices.map(({ value }) => ({ schedule: 'often', every: value })),
    { schedule: 'day', time },
    { schedule: 'weekdays', time },
    { schedule: 'week', time, weekday },
    { schedule: 'month', time, monthDay },
  ];
  const same = candidates.find((one) => cronOf(one) === written.join(' '));
  return { ...usual, ...(same ?? { schedule: 'other' }) };
}
