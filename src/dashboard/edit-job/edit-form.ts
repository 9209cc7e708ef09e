import type { EditableFile, Path, YamlEdit } from '../../config/edit-file.ts';
import { IMPORT_MODES, type ImportMode } from '../../model/mapped-record.ts';
import { limitsFor, safetyLimit } from '../../model/safety-limits.ts';
import { USUAL_SCHEDULES } from '../../onboarding/new-workspace.ts';
import type { FormFields } from '../route-parts.ts';

/** A field of a form that shows a value of a file. */
export interface EditField {
  readonly name: string;
  readonly path: Path;
  readonly label: string;
  /** What an empty field means. */
  readonly usual?: string;
  readonly hint?: string;
}

/** The values of a form by the names of its fields. */
export type EditValues = Readonly<Record<string, string>>;

const SOURCE_FIELDS: readonly EditField[] = [
  ['sheet', 'Sheet of the workbook', 'its name or its number'],
  ['records', 'Path of the records', 'of a JSON or XML file'],
  ['headerRow', 'Row with the names of the columns', 'its number'],
  ['encoding', 'Charset', 'such as utf-8 or windows-1252'],
  ['delimiter', 'Delimiter', 'comma, semicolon, tab or pipe'],
].map(([name = '', label = '', hint = '']) => ({
  name,
  path: ['source', name],
  label,
  usual: 'recognised',
  hint,
}));

/** How a job names its source, and where the file has it; null for what the form does not change. */
function placeOf(file: EditableFile) {
  const text = (path: Path) => typeof file.at(path) === 'string';
  if (text(['source', 'path'])) return { kind: 'path', path: ['source', 'path'], switches: true };
  if (text(['source', 'url'])) return { kind: 'url', path: ['source', 'url'], switches: true };
  const address = ['source', 'url', 'address'];
  return text(address) ? { kind: 'url', path: address, switches: false } : null;
}

/** The fields of the file of a job: those of its source and its limits, none for an export. */
export function editForm(file: EditableFile): {
  readonly location: 'any' | 'url' | 'none';
  readonly source: readonly EditField[];
  readonly limits: readonly EditField[];
} {
  const imports = file.at(['import']);
  if (imports !== 'products' && imports !== 'contacts') return { location: 'none', source: [], limits: [] };
  const place = placeOf(file);
  const written = file.at(['mode']);
  const mode: ImportMode = IMPORT_MODES.find((name) => name === written) ?? 'upsert';
  return {
    location: place === null ? 'none' : place.switches ? 'any' : 'url',
    source: SOURCE_FIELDS,
    limits: limitsFor(imports, mode).map((name) => {
      const { title, default: usual, description } = safetyLimit(name);
      return { name, path: ['safety', name], label: title, usual, hint: description };
    }),
  };
}

/** The paths of the fields, for problems beside them. */
export function pathsOf(file: EditableFile): ReadonlyMap<string, readonly Path[]> {
  const { source, limits } = editForm(file);
  return new Map<string, readonly Path[]>([
    ['location', [['source', 'path'], ['source', 'url', 'address'], ['source', 'url'], ['source']]],
    ...[...source, ...limits].map(({ name, path }): [string, Path[]] => [name, [path]]),
    ['cron', [['schedule', 'cron']]],
    ['timezone', [['schedule', 'timezone']]],
  ]);
}

/** Values of a file as its fields show them: on one line, placeholders as written. */
function shown(value: unknown): string {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? String(value).replaceAll(/[\r\n]+/g, ' ') : '';
}

/** What the form shows of a file. */
export function valuesOf(file: EditableFile, timezone: string): EditValues {
  const { source, limits } = editForm(file);
  const place = placeOf(file);
  const paused = file.paused('schedule');
  const schedule: unknown = file.at(['schedule']) ?? paused;
  const part = (name: 'cron' | 'timezone') =>
    typeof schedule === 'object' && schedule !== null && name in schedule
      ? shown(Object.entries(schedule).find(([key]) => key === name)?.[1])
      : undefined;
  const cron = part('cron') ?? '';
  const isUsual = USUAL_SCHEDULES.some(({ value }) => value === cron);
  const isOn = file.at(['schedule']) !== undefined;
  return {
    ...(place === null ? {} : { place: place.kind, location: shown(file.at(place.path)) }),
    ...Object.fromEntries([...source, ...limits].map(({ name, path }) => [name, shown(file.at(path))])),
    schedule: isOn ? (isUsual ? cron : 'other') : paused === undefined ? 'no' : 'paused',
    cron: cron === '' ? '15 2 * * *' : cron,
    timezone: part('timezone') ?? (schedule === undefined ? timezone : 'UTC'),
  };
}

/** What was typed over values, for the same fields. */
export function withTypedValues(values: EditValues, fields: FormFields): EditValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const typed = fields[name] ?? value;
      // A tab is a delimiter.
      return [name, name === 'delimiter' && typed.trim() === '' ? typed : typed.trim()];
    }),
  );
}

/** The values that the form showed at first. */
export function shownBefore(values: EditValues, fields: FormFields): EditValues {
  return Object.fromEntries(
    Object.keys(values).map((name) => [name, fields[`was.${name}`] ?? values[name] ?? '']),
  );
}

/** What must change in a file so that it has the wanted values instead of the present ones. */
export function editsOf(file: EditableFile, now: EditValues, wanted: EditValues): YamlEdit[] {
  const { source, limits } = editForm(file);
  const changed = (name: string) => now[name] !== wanted[name];
  return [
    ...(changed('location') || changed('place') ? locationEdits(file, wanted) : []),
    ...[...source, ...limits]
      .filter(({ name }) => changed(name))
      .map(({ name, path }) => ({ set: path, to: writtenAs(wanted[name] ?? '', path, file.at(path)) })),
    ...scheduleEdits(file, now, wanted),
  ];
}

function writtenAs(typed: string, path: Path, before: unknown): string | number | undefined {
  if (typed === '') return undefined;
  const takesNumbers = typeof before === 'number' || path[0] === 'safety' || path[1] === 'headerRow';
  return takesNumbers && /^\d{1,15}$/.test(typed) ? Number(typed) : typed;
}

function locationEdits(file: EditableFile, { place = '', location = '' }: EditValues): YamlEdit[] {
  const before = placeOf(file);
  if (before === null) return [];
  if (before.kind === place || !before.switches) return [{ set: before.path, to: location }];
  const kind = place === 'url' ? 'url' : 'path';
  return [
    { set: ['source', kind], to: location },
    { set: before.path, to: undefined },
  ];
}

const CRON = ['schedule', 'cron'];
const TIMEZONE = ['schedule', 'timezone'];

function scheduleEdits(file: EditableFile, now: EditValues, wanted: EditValues): YamlEdit[] {
  const isOn = file.at(['schedule']) !== undefined;
  const choice = wanted['schedule'] ?? 'no';
  const dropPaused: YamlEdit[] = now['schedule'] === 'paused' ? [{ dropPaused: 'schedule' }] : [];
  if (choice === 'no') return isOn ? [{ set: ['schedule'], to: undefined }] : dropPaused;
  const { timezone = '' } = wanted;
  const typed: YamlEdit[] = [
    ...(now['cron'] === wanted['cron'] ? [] : [{ set: CRON, to: wanted['cron'] }]),
    ...(now['timezone'] === timezone ? [] : [{ set: TIMEZONE, to: timezone || undefined }]),
  ];
  if (choice === 'paused') {
    if (isOn) return [...typed, { pause: 'schedule' }];
    return typed.length === 0 ? [] : [{ resume: 'schedule' }, ...typed, { pause: 'schedule' }];
  }
  if (choice === 'resume') return isOn || dropPaused.length === 0 ? [] : [{ resume: 'schedule' }, ...typed];
  const cron = choice === 'other' ? (wanted['cron'] ?? '') : choice;
  if (!isOn) return [...dropPaused, { set: CRON, to: cron }, { set: TIMEZONE, to: timezone || undefined }];
  return [
    ...(shown(file.at(CRON)) === cron ? [] : [{ set: CRON, to: cron }]),
    ...(now['timezone'] === timezone ? [] : [{ set: TIMEZONE, to: timezone || undefined }]),
  ];
}
