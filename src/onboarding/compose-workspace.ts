import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freeYamlName } from '../config/edit-file.ts';
import {
  cronOf,
  importJobSchema,
  isAskedBeside,
  SCHEDULE_CHOICES,
  SCHEDULE_FIELD_NAMES,
  SCHEDULE_FIELDS,
  whyNoSchedule,
  whyNoTime,
} from '../config/job/job.ts';
import { isName } from '../config/store-config.ts';
import { type MappingSpec, matchOfMapping } from '../mapping/spec/mapping-spec.ts';
import { isTimezone } from '../model/clock.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { delimiterName } from '../model/row.ts';
import { looksSecret } from '../text/mask-personal-data.ts';
import type { CrosswalkAnswer } from './ask-crosswalk.ts';
import { askCurrency, askWeightUnit, type StoreAnswer } from './ask-store.ts';
import type { DraftFile, DraftSetting, Inquiry, PlacedFile } from './inquiry.ts';
import type { NewJob, Reading } from './job-text.ts';
import { NEW_STORE, type NewWorkspace } from './new-workspace.ts';
import type { SourceGuess } from './preview-source.ts';

/** What the settings of a job depend on. */
interface SettingsParts {
  readonly guess: SourceGuess;
  readonly spec: MappingSpec;
  readonly store: StoreAnswer;
  readonly setting: DraftSetting;
}

/** Asks for the settings that do not follow from the file. */
export function askSettings(inquiry: Inquiry, { guess, spec, store, setting }: SettingsParts) {
  const weightUnit = askWeightUnit(inquiry, spec, store);
  const currency = askCurrency(inquiry, guess, spec, store);
  const pictures = askPictures(inquiry, setting);
  const defaultAnswer = freeYamlName(join(setting.dir, 'jobs'), guess.mapping ?? `my-${spec.import}`);
  const name = inquiry.ask(
    { id: 'name', text: 'Name of the job', defaultAnswer, reliance: 'default' },
    (answer) => whyNoJobName(setting.dir, answer),
  );
  const timing = askSchedule(inquiry, setting);
  const variables: Readonly<Record<string, string>> = Object.fromEntries(
    (store.known?.unset ?? []).flatMap((variable) => {
      const isSecret = looksSecret(variable);
      // A visitor must not choose the address to which a known key goes.
      if (setting.isVisitor && !isSecret) return [];
      const value = inquiry.ask({
        id: `variable.${variable}`,
        form: isSecret ? 'secret' : 'text',
        defaultAnswer: '',
        text: `The store ${store.known?.name} needs ${variable} (it goes into .env)`,
      });
      return value ? [[variable, value]] : [];
    }),
  );
  return { weightUnit, currency, pictures, name: name ?? defaultAnswer, ...timing, variables };
}

/** Asks where picture files are put, so that they are found at their address. */
function askPictures(inquiry: Inquiry, { pictures }: DraftSetting): NewJob['pictures'] {
  const address = inquiry.given('imageBase') ?? '';
  if (pictures === undefined || address === '') return undefined;
  const publish = (to: string) => ({
    from: pictures.copy,
    [to.startsWith('s3:') ? 's3' : 'path']: to,
    address,
  });
  const to = inquiry.ask(
    {
      id: 'picturesTo',
      text: 'Where are the pictures put, so that they are at this address?',
      reason: 'A folder of this workspace that a web server shows, such as public/shop; or s3://bucket/shop',
      missing: 'Say where the pictures are put.',
    },
    (answer) =>
      /^sftp:/i.test(answer)
        ? 'for an SFTP server give a folder here, and write `sftp` with its key and password in place of `path` into the file of the job'
        : importJobSchema.shape.images.safeParse({ publish: publish(answer) }).error?.issues[0]?.message,
  );
  return to === undefined ? undefined : publish(to);
}

function whyNoJobName(dir: string, name: string): string | undefined {
  if (!isName(name))
    return 'the name of a job has at most 64 letters, digits, dots, - and _, beginning with a letter or digit';
  return existsSync(join(dir, 'jobs', `${name}.yaml`)) ? `there is a job ${name} already` : undefined;
}

function askSchedule(inquiry: Inquiry, { isVisitor }: DraftSetting) {
  const choices = withoutAbsent([
    ...SCHEDULE_CHOICES,
    !isVisitor && { value: 'other', name: 'At other times, as a cron expression' },
  ]);
  const schedule = inquiry.ask(
    { id: 'schedule', text: 'When does it run?', defaultAnswer: 'no', reliance: 'default', choices },
    (answer) =>
      choices.some(({ value }) => value === answer) ? undefined : `there is no choice '${answer}'`,
  );
  const times = Object.fromEntries(
    SCHEDULE_FIELD_NAMES.map((id) => {
      const {
        label: text,
        defaultValue: defaultAnswer,
        choices: offered,
        hint: reason,
      } = SCHEDULE_FIELDS[id];
      const isAsked = isAskedBeside(id, schedule);
      const answer = inquiry.ask(
        { id, text, defaultAnswer, choices: offered, reason, reliance: isAsked ? 'preset' : 'settled' },
        (given) => (isAsked ? whyNoTime(id, given) : undefined),
      );
      return [id, answer];
    }),
  );
  const typed =
    schedule === 'other'
      ? inquiry.ask(
          { id: 'cron', text: 'Minute, hour, day, month, weekday (cron)', defaultAnswer: DEFAULT_CRON },
          (cron) => whyNoScheduleOf(cron, 'UTC'),
        )
      : cronOf({ ...times, schedule: schedule ?? 'no' });
  const isScheduled = schedule !== undefined && schedule !== 'no';
  const timezone =
    inquiry.ask(
      { id: 'timezone', text: 'Time zone', defaultAnswer: localTimezone(), reliance: 'settled' },
      (zone) => (isScheduled ? whyNoScheduleOf(DEFAULT_CRON, zone) : undefined),
    ) ?? localTimezone();
  return { schedule: typed === undefined ? undefined : { cron: typed, timezone }, timezone };
}

const DEFAULT_CRON = '15 2 * * *';

function whyNoScheduleOf(cron: string, timezone: string): string | undefined {
  const wrong = whyNoSchedule(cron, timezone);
  return wrong === undefined ? undefined : `the schedule '${cron}' in ${timezone}: ${wrong}`;
}

/** The name of this machine's time zone. */
function localTimezone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return isTimezone(timeZone) ? timeZone : 'UTC';
}

interface WorkspaceParts extends Omit<SettingsParts, 'guess'> {
  readonly settings: ReturnType<typeof askSettings>;
  readonly source: PlacedFile;
  readonly reading: Reading;
  readonly file: Omit<DraftFile, 'findings' | 'currency'>;
  readonly crosswalk: CrosswalkAnswer | null;
}

/** The files to write for a job whose questions are all answered. */
export function composeWorkspace({
  source,
  reading,
  file: { name: fileName, look, guess },
  spec,
  store,
  crosswalk,
  settings: { variables, ...settings },
  setting: { dir, pictures: files },
}: WorkspaceParts): NewWorkspace {
  const { name, weightUnit, currency, schedule, timezone, pictures } = settings;
  const { written } = source;
  const mapping = guess.mapping ?? freeYamlName(join(dir, 'mappings'), name);
  const { delimiter } = reading;
  const read = { ...reading, delimiter: delimiter && (delimiterName(delimiter) ?? delimiter) };
  return {
    dir,
    weightUnit,
    currency,
    variables: { ...store.variables, ...source.variables, ...variables },
    unset: (store.known?.unset ?? []).filter((variable) => variables[variable] === undefined),
    sandbox: store.isSandbox,
    copies: [
      ...copyTo(written.path, source.copyOf),
      ...copyTo(crosswalk?.path, crosswalk?.copyOf),
      ...copyTo(pictures && files?.copy, files?.from),
    ],
    crosswalkToCome:
      crosswalk !== null && crosswalk.copyOf === undefined && !existsSync(resolve(dir, crosswalk.path)),
    job: {
      name,
      imports: spec.import,
      store: store.known?.name ?? NEW_STORE,
      source: { ...written, ...read },
      mapping,
      match: matchOfMapping(spec),
      params: spec.params ?? {},
      paramValues: guess.params,
      crosswalk: crosswalk ?? undefined,
      pictures,
      schedule,
      timezone,
    },
    starter: guess.proposal && {
      name: mapping,
      file: fileName,
      header: look.header,
      proposal: guess.proposal,
      spec,
    },
  };
}

function copyTo(path: string | undefined, from: string | undefined): NewWorkspace['copies'] {
  return path === undefined || from === undefined ? [] : [{ path, from }];
}
