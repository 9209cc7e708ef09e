import type { ImportJob } from '../config/job/job.ts';
import type { TypedPlace } from '../config/workspace.ts';
import {
  escapePlaceholders,
  flow,
  placeholder,
  schemaLine,
  yamlTemplate,
  yamlText,
} from '../config/yaml-text.ts';
import type { MappingSpec } from '../mapping/spec/mapping-spec.ts';
import { withoutAbsent } from '../model/json-object.ts';
import type { UpdateMatch } from '../model/mapped-record.ts';
import { limitsFor, safetyLimit } from '../model/safety-limits.ts';

/** Where the source of a new job is, as its file writes it. */
export type WrittenPlace =
  | { readonly path: string }
  | (TypedPlace['written'] & { readonly path?: undefined });

/** How a file is read, as far as somebody has said it. */
export interface Reading {
  readonly sheet?: string | undefined;
  readonly records?: string | undefined;
  readonly headerRow?: number | undefined;
  readonly dataRow?: number | undefined;
  readonly encoding?: string | undefined;
  readonly delimiter?: string | undefined;
  readonly quotes?: 'none' | undefined;
}

/** What a source can say of how its file is read, and what that means. */
const READING_KEYS: readonly (readonly [key: keyof Reading, why: string])[] = [
  ['sheet', 'the sheet of the workbook: its name, or its number'],
  ['records', 'the path of the records in the file'],
  ['headerRow', 'the row with the names of the columns'],
  ['dataRow', 'the first row with data'],
  ['encoding', 'the charset of the file'],
  ['delimiter', 'what separates the columns'],
  ['quotes', 'the file never quotes cells'],
];

/** The values of a new import job. */
export interface NewJob {
  readonly name: string;
  readonly imports: ImportJob['import'];
  readonly store: string;
  readonly source: WrittenPlace & Reading;
  readonly mapping: string;
  /** By what an update finds its products; undefined for a job that sends whole products. */
  readonly match?: UpdateMatch | undefined;
  /** What the mapping lets a job set, for the comments. */
  readonly params: NonNullable<MappingSpec['params']>;
  readonly paramValues: Readonly<Record<string, string>>;
  readonly crosswalk?:
    | 'store'
    | {
        readonly path: string;
        readonly match: string;
        readonly field?: string | undefined;
        readonly id: string;
      }
    | undefined;
  /** `images.publish`, for pictures that the source has as files. */
  readonly pictures?: Readonly<Record<string, string>> | undefined;
  readonly schedule?: { readonly cron: string; readonly timezone: string } | undefined;
  /** For the example of a schedule. */
  readonly timezone: string;
}

/** A commented job file for beginners: what is set, what could be set, and why. */
export function jobText(job: NewJob): string {
  const contacts = job.imports === 'contacts';
  const lines = withoutAbsent([
    schemaLine('job', '../'),
    `# Imports ${job.imports} into the store ${job.store}. After a change: storeferry check`,
    `#   storeferry plan ${job.name}   shows what a run would send; sends nothing`,
    `#   storeferry run ${job.name}    sends it; the next run sends only what has changed since`,
    `import: ${job.imports}`,
    `store: ${yamlText(job.store)} # a name in stores.yaml`,
    'source:',
    sourceLine(job.source),
    ...READING_KEYS.map(([key, why]) => setting(`  ${key}`, job.source[key], why)),
    `mapping: ${yamlText(job.mapping)} # how rows become ${job.imports}; your own mappings are in mappings/`,
    ...paramLines(job),
    '',
    ...(contacts ? crosswalkLines(job) : modeLines(job)),
    contacts
      ? '# Two rows for one contact: reject both, keep the first or the last, or merge them.'
      : '# The same product twice in one file: reject both, or keep the first or the last.',
    'duplicates: reject',
    ...picturesLines(job),
    ...safetyLines(job),
    '',
    '# When `storeferry worker` runs it by itself: minute, hour, day, month, weekday.',
    ...scheduleLines(job),
    '# A web address that receives a notification when a run ends.',
    `# notify: { url: "${placeholder('OPS_WEBHOOK', '')}", on: [failed, stopped, rejects] }`,
  ]);
  return `${lines.join('\n')}\n`;
}

function sourceLine(source: NewJob['source']) {
  const why = 'the address of the file; each run reads it again';
  if ('url' in source) return `  url: ${flow(source.url, yamlTemplate)} # ${why}`;
  if ('sftp' in source) return `  sftp: ${flow(source.sftp, yamlTemplate)} # ${why}`;
  return `  path: ${yamlText(source.path)} # a file, or a glob such as exports/*.csv; gzip and zip files are unpacked`;
}

function setting(key: string, value: string | number | undefined, why: string) {
  return value === undefined ? undefined : `${key}: ${flow(value)} # ${why}`;
}

function modeLines({ match }: NewJob) {
  if (match !== undefined)
    return [
      '# Changes only products that jobs of this store have sent; a row of another product is rejected.',
      'mode: update',
      `match: ${match} # by what products are found: url, sku or id`,
    ];
  return [
    '# Products that this job has sent and the source no longer has: upsert keeps them, mirror deletes them.',
    'mode: upsert',
  ];
}

function crosswalkLines({ crosswalk }: NewJob) {
  if (crosswalk === undefined)
    return [
      '# The store identifies contacts by its own ids, which the mapping takes from the file. If the file has none, a CSV',
      '# file with id and e-mail provides them:',
      '# crosswalk: { path: contact-ids.csv, match: email, id: id }',
    ];
  if (crosswalk === 'store')
    return ['# The contacts of the store are found by their e-mail addresses.', 'crosswalk: store'];
  return [
    '# The store updates contacts by id only: this file has its ids and a field of the source.',
    'crosswalk:',
    `  path: ${yamlText(crosswalk.path)}`,
    `  match: ${yamlText(crosswalk.match)} # its column to match${crosswalk.field === undefined ? '; the contact has a field of the same name' : ''}`,
    setting('  field', crosswalk.field, "the contact's field that it is compared with"),
    `  id: ${yamlText(crosswalk.id)} # its column with the store's id`,
  ];
}

function picturesLines({ pictures }: NewJob) {
  if (pictures === undefined) return [];
  const entries = Object.entries(pictures);
  return [
    '# Picture files are uploaded before the products that name them.',
    'images:',
    '  publish:',
    ...entries.map(([key, value]) => `    ${key}: ${JSON.stringify(escapePlaceholders(value))}`),
  ];
}

function safetyLines({ imports }: NewJob) {
  const limits = limitsFor(imports);
  const usual = limits.map((name) => `${name}: ${safetyLimit(name).default}`);
  const guarded = limits.map((name) => safetyLimit(name).title.toLowerCase());
  return [
    '# Limits that stop a run before its first request, until it is approved. These are the defaults; each is a number,',
    `# a percentage, or off: ${guarded.join(', ')}.`,
    `safety: { ${usual.join(', ')} }`,
  ];
}

function scheduleLines({ schedule, timezone }: NewJob) {
  const written = (cron: string, zone: string) =>
    `schedule: { cron: ${JSON.stringify(cron)}, timezone: ${yamlText(zone)} }`;
  return schedule === undefined
    ? [`# ${written('15 2 * * *', timezone)}`]
    : [written(schedule.cron, schedule.timezone)];
}

function paramLines({ params, paramValues }: NewJob) {
  const entries = Object.entries(params).map(([name, param]) => {
    const { default: usual, description = '' } = typeof param === 'object' ? param : { default: param };
    const given = paramValues[name];
    const why = description === '' ? '' : ` # ${description.replaceAll(/\s+/g, ' ')}`;
    return {
      set: given !== undefined,
      line: `${yamlTemplate(name)}: ${given === undefined ? JSON.stringify(usual ?? '') : likeDefault(given, usual)}${why}`,
    };
  });
  if (entries.length === 0) return [];
  const anySet = entries.some(({ set }) => set);
  return [
    ...(anySet ? ['params:'] : ['# What this mapping lets a job set, with its defaults:', '# params:']),
    ...entries.map(({ set, line }) => (set ? `  ${line}` : `#   ${line}`)),
  ];
}

/** A typed value as the type that the mapping expects. */
function likeDefault(given: string, usual: unknown) {
  const isNumber = typeof usual === 'number' && given.trim() !== '' && Number.isFinite(Number(given));
  const isSwitch = typeof usual === 'boolean' && (given === 'true' || given === 'false');
  return isNumber || isSwitch ? given.trim() : yamlText(given);
}
