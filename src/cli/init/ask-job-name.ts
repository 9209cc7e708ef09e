import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { whyNoSchedule } from '../../config/job/read-schedules.ts';
import { USUAL_SCHEDULES } from '../../config/new-workspace/new-workspace.ts';
import { freeName } from '../../config/new-workspace/write-together.ts';
import { isName } from '../../config/store-config.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { isTimezone } from '../../model/is-timezone.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import type { Asking } from './asking.ts';

/** Asks for the name of the job, which is the name of a new file in jobs/. */
export async function askJobName(asking: Asking, usual: string): Promise<string> {
  const { options, prompter, dir } = asking;
  const whyNot = (name: string): string | undefined => {
    if (!isName(name)) return 'only letters, digits, dots, - and _, beginning with a letter or digit';
    return existsSync(jobPath(dir, name)) ? `there is a job ${name} already` : undefined;
  };
  const free = freeName(join(dir, 'jobs'), `${usual}.yaml`).replace(/\.yaml$/, '');
  const name =
    options.job ??
    (options.yes ? free : await prompter?.text('Name of the job:', { fallback: free, check: whyNot })) ??
    free;
  const wrong = whyNot(name);
  if (wrong !== undefined) throw new UsageError(`The job cannot be called '${name}': ${wrong}.`);
  return name;
}

/** The path of a job file. */
export function jobPath(dir: string, name: string): string {
  return join(dir, 'jobs', `${name}.yaml`);
}

type Schedule = { readonly cron: string; readonly timezone: string };

/** Asks when workers run the job; undefined for never. */
export async function askSchedule({ options, prompter }: Asking): Promise<Schedule | undefined> {
  const timezone = options.timezone ?? localTimezone();
  if (options.schedule !== undefined) return schedule(options.schedule, timezone);
  if (options.yes || prompter === null) return undefined;
  const chosen = await prompter.choose(
    'Run it on a schedule? (needs `storeferry worker`)',
    [
      { value: 'no', name: 'No: by hand, or by cron of this machine' },
      ...USUAL_SCHEDULES.map((one) => ({ ...one, name: `${one.name}, ${timezone}` })),
      { value: 'other', name: 'At other times' },
    ],
    'no',
  );
  if (chosen === 'no') return undefined;
  if (chosen !== 'other') return schedule(chosen, timezone);
  const cron = await prompter.text('Minute, hour, day, month, weekday (cron):', {
    fallback: '15 2 * * *',
    check: (text) => whyNoSchedule(text, timezone),
  });
  return schedule(cron, timezone);
}

function schedule(cron: string, timezone: string): Schedule {
  const wrong = whyNoSchedule(cron, timezone);
  if (wrong !== undefined) throw new UsageError(`The schedule '${cron}' in ${timezone}: ${wrong}.`);
  return { cron, timezone };
}

/** The name of this machine's time zone. */
export function localTimezone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return isTimezone(timeZone) ? timeZone : 'UTC';
}

/** Asks for the parameters of a mapping that have no default. */
export async function askParams(
  { options, prompter }: Asking,
  params: NonNullable<MappingSpec['params']>,
): Promise<Record<string, string>> {
  const values: Record<string, string> = { ...options.param };
  const unknown = Object.keys(values).find((name) => !Object.hasOwn(params, name));
  if (unknown !== undefined) throw new UsageError(`--param ${unknown}: the mapping has no such parameter.`);
  for (const [name, param] of Object.entries(params)) {
    if (typeof param !== 'object' || param.default !== undefined || values[name] !== undefined) continue;
    const about = param.description === undefined ? '' : ` (${param.description})`;
    const value = await prompter?.text(`${name}${about}:`);
    if (value === undefined) {
      throw new UsageError(`The mapping needs the parameter ${name}${about}.`, {
        hint: `Give --param ${name}=VALUE.`,
      });
    }
    values[name] = value;
  }
  return values;
}
