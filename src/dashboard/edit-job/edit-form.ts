import type { EditableFile, Path, YamlEdit } from '../../config/edit-file.ts';
import {
  cronOf,
  DESTINATION_WORDS,
  DUPLICATES_WORDS,
  FORMAT_WORDS,
  MODE_WORDS,
  timesOf,
} from '../../config/job/job.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { GUARD_ACTIONS, GUARD_FIELDS } from '../../model/guard.ts';
import { isJsonObject, member, recordOf, withoutAbsent } from '../../model/json-object.ts';
import { IMPORT_MODES, UPDATE_MATCHES } from '../../model/mapped-record.ts';
import { FLOOR_TEXT, limitsFor, safetyLimit, WAVE_LIMITS } from '../../model/safety-limits.ts';
import { paramWords } from '../new-job/draft-page.ts';
import type { Choice, TypedCheck } from '../pages/post-form.ts';
import type { FormFields } from '../route-parts.ts';
import {
  choice,
  displayedValue,
  type EditField,
  type EditGroup,
  type EditValues,
  fieldEdits,
  fieldValue,
  mapValues,
  typedField,
} from './edit-field.ts';
import { notifyEdits, notifyGroups } from './notify-groups.ts';

const SOURCE_FIELDS: readonly EditField[] = [
  ['sheet', 'Sheet of the workbook', 'its name or its number'],
  ['records', 'Where the records are', 'in a JSON or XML file, such as shop.items'],
  ['headerRow', 'Row with the names of the columns', 'its number'],
  ['encoding', 'Charset', 'such as utf-8 or windows-1252'],
  ['delimiter', 'Delimiter', 'comma, semicolon, tab or pipe'],
].map(([name = '', label = '', hint = '']) =>
  typedField(['source', name], label, hint, {
    name,
    defaultValue: 'recognised',
    ...(name === 'headerRow' && { pattern: '[1-9][0-9]*', wrong: 'Give the number of a row, such as 3.' }),
  }),
);

const PERCENT: TypedCheck = { pattern: '[0-9]+([.][0-9]+)? *%', wrong: 'Give a percentage, such as 20%.' };
const NUMBER: TypedCheck = {
  pattern: '-?[0-9]+([.][0-9]+)?',
  wrong: 'Give a number, with a point for decimals.',
};
const LIMIT: TypedCheck = {
  pattern: 'off|[0-9]+|[0-9]+([.][0-9]+)? *%',
  wrong: 'Give a whole number, a percentage such as 5%, or off.',
};

/** The values of a setting as choices: their words, then the value in parentheses. */
function wordChoices(words: Readonly<Record<string, string>>): readonly Choice[] {
  return Object.entries(words).map(([value, text]) => [
    value,
    `${text.charAt(0).toUpperCase()}${text.slice(1)} (${value})`,
  ]);
}

const MATCH_WORDS = { url: 'the url', sku: 'the SKU of a variant', id: 'the id of the store' };

const MODE_GROUP: EditGroup = {
  legend: 'What a run does',
  fields: [
    choice(
      ['mode'],
      'What happens in the store',
      wordChoices(recordOf(IMPORT_MODES, (mode) => MODE_WORDS[mode])),
      { name: 'mode', defaultValue: 'upsert' },
    ),
    choice(
      ['match'],
      'Products are found by',
      UPDATE_MATCHES.map((match): Choice => [match, MATCH_WORDS[match]]),
      { when: 'mode=update', removedWhenHidden: true, defaultValue: 'url' },
    ),
    typedField(
      ['keep'],
      'Keep: fields that stay as last known in the store',
      'Names with commas between them, such as variants.quantity, where another job sends them.',
      { list: true, defaultValue: 'none', when: 'mode=upsert|mirror', removedWhenHidden: true },
    ),
  ],
};

function duplicatesField(imports: 'products' | 'contacts') {
  const { merge: _, ...ofProducts } = DUPLICATES_WORDS;
  const words = imports === 'products' ? ofProducts : DUPLICATES_WORDS;
  return choice(['duplicates'], 'If the source has a record twice', wordChoices(words));
}

/** The fields that a guard can watch, as people call them. */
const GUARD_FIELD_WORDS: Readonly<Record<(typeof GUARD_FIELDS)[number], string>> = {
  'variants.price': 'Price',
  'variants.regularPrice': 'Regular price',
  'variants.salePrice': 'Sale price',
  'variants.quantity': 'Stock',
  'variants.weight': 'Weight',
  'variants.onSale': 'On sale',
  'variants.sku': 'SKU',
  title: 'Title',
  description: 'Description',
  hidden: 'Hidden',
  type: 'Type',
  file: 'File',
};
const GUARD_ACTION_WORDS: Readonly<Record<(typeof GUARD_ACTIONS)[number], string>> = {
  hold: 'the product is held until somebody releases it',
  stop: 'the run stops before its first request',
  warn: 'the product is sent, and the report names it',
};
const GUARD_PARTS = ['field', 'changeBy', 'above', 'below', 'to', 'share', 'action'] as const;

function guardGroup(number: number, isNew: boolean): EditGroup {
  const path = (part: (typeof GUARD_PARTS)[number]) => ['guards', String(number), part];
  const when = `guards.${number}.field!=`;
  const text = (part: (typeof GUARD_PARTS)[number], label: string, hint: string, check: TypedCheck = {}) =>
    typedField(path(part), label, hint, { ...check, when });
  return {
    legend: isNew ? (number === 0 ? 'Guard against unusual values' : 'Another guard') : `Guard ${number + 1}`,
    rare: true,
    hint: 'Watches the values of products that a run would send. All conditions that are given must be met.',
    fields: [
      choice(path('field'), 'Watches', [
        ['', isNew ? 'Nothing' : 'Nothing: remove this guard'],
        ...GUARD_FIELDS.map((field): Choice => [field, `${GUARD_FIELD_WORDS[field]} (${field})`]),
      ]),
      text('changeBy', 'Changes by at least', 'a percentage such as 50%', PERCENT),
      text('above', 'Becomes more than', 'a number', NUMBER),
      text('below', 'Becomes less than', 'a number', NUMBER),
      text('to', 'Becomes exactly', 'such as 0'),
      text('share', 'Only if it happens to more than', 'a percentage of the records, such as 20%', PERCENT),
      choice(
        path('action'),
        'Then',
        GUARD_ACTIONS.map((action): Choice => [action, GUARD_ACTION_WORDS[action]]),
        { when },
      ),
    ],
  };
}

/** The guards of a file, and an empty one; none where the file has them in another form. */
function guardGroups(file: EditableFile): readonly EditGroup[] {
  const guards = guardsIn(file);
  return guards === undefined
    ? []
    : [...guards.keys(), guards.length].map((number) => guardGroup(number, number === guards.length));
}

function guardsIn(file: EditableFile): readonly object[] | undefined {
  const written = file.at(['guards']) ?? [];
  if (!Array.isArray(written)) return undefined;
  const known = new Set<string>(GUARD_PARTS);
  const isKnown = (guard: unknown) =>
    typeof guard === 'object' && guard !== null && Object.keys(guard).every((key) => known.has(key));
  return written.every(isKnown) ? written : undefined;
}

const APPROVAL_GROUP: EditGroup = {
  legend: 'Approval',
  rare: true,
  hint: 'Needs people who sign in by name.',
  fields: [
    choice(['approval', 'by'], 'Before a run sends its first request', [
      ['', 'Nobody has to approve it'],
      ['another', 'Somebody else than who started it must approve it'],
    ]),
  ],
};

const WAVE_LABELS: Readonly<Record<string, string>> = {
  maxRejects: 'Records that the store may refuse',
  maxUnsent: 'Records that may be left without an answer',
  maxAltered: 'Records that the store may change',
};

/** A limit as its definition describes it. */
function limitField(
  path: Path,
  label: string,
  { default: defaultValue, description }: { readonly default: string; readonly description: string },
  more: Partial<EditField>,
) {
  return typedField(path, label, description.replaceAll('`', ''), { defaultValue, ...LIMIT, ...more });
}

const WAVES_GROUP: EditGroup = {
  legend: 'Waves',
  rare: true,
  hint: 'Sends a few records first, and the others only if the store answers as expected.',
  fields: [
    typedField(
      ['apply', 'waves'],
      'Records sent at the end of each wave',
      'Numbers or percentages, the last is 100%: 10, 1%, 100%',
      { list: true, defaultValue: 'all at once' },
    ),
    ...Object.entries(WAVE_LIMITS).map(([key, limit]) =>
      limitField(['apply', key], WAVE_LABELS[key] ?? key, limit, {
        when: 'apply.waves!=',
        removedWhenHidden: true,
      }),
    ),
  ],
};

function pictureField(part: string, label: string, hint: string) {
  const more = part === 'from' ? {} : { when: 'images.publish.from!=', removedWhenHidden: true as const };
  return typedField(['images', 'publish', part], label, hint, more);
}

const PICTURES_GROUP: EditGroup = {
  legend: 'Pictures as files',
  rare: true,
  hint: 'For a source that has names of picture files instead of web addresses: they are uploaded before the products. Give one place for them; an SFTP server is written into the file of the job by hand.',
  fields: [
    pictureField('from', 'Folder or ZIP with the pictures', 'A path in the workspace, such as photos.zip'),
    pictureField('address', 'Web address of the published pictures', 'Such as https://images.example/shop/'),
    pictureField('s3', 'Folder in S3', 'Such as s3://bucket/shop; its keys are in .env'),
    pictureField('path', 'Folder on this machine', 'A path in the workspace, such as public/shop'),
  ],
};

const EXPORT_GROUP: EditGroup = {
  legend: 'The file',
  fields: [
    choice(['destination', 'mode'], 'What a run does with the file', wordChoices(DESTINATION_WORDS)),
    choice(['destination', 'format'], 'Format', wordChoices(FORMAT_WORDS)),
    choice(['destination', 'decimal'], 'Sign of decimals', [
      ['', 'As usual: a point'],
      ['.', 'A point'],
      [',', 'A comma'],
    ]),
    typedField(
      ['columns'],
      'Columns, in their order',
      'Names with commas between them, such as id, customer.email, total',
      { list: true, defaultValue: 'all' },
    ),
  ],
};

const ORDER_FIELD = choice(['rows'], 'A line is', [
  ['', 'an order'],
  ['orders', 'an order (orders)'],
  ['items', 'an item of an order (items)'],
]);

/**
 * The kind and the path of the source or destination in the file of a job; null for one that the form cannot change. `canChangeKind`:
 * whether the form offers the other kinds.
 */
function placeOf(file: EditableFile) {
  const part = file.at(['export']) === undefined ? 'source' : 'destination';
  const canChangeKind = part === 'source';
  const isText = (path: Path) => typeof file.at(path) === 'string';
  const kind = ['path', 'watch', 'url'].find((name) => isText([part, name]));
  if (kind !== undefined) return { kind, path: [part, kind], canChangeKind };
  const address = [part, 'url', 'address'];
  return isText(address) ? { kind: 'url', path: address, canChangeKind: false } : null;
}

/** The file of a job, with what its mapping lets it set. */
export interface EditableJob extends EditableFile {
  readonly params: MappingSpec['params'];
}

/** The parameters of the mapping whose values are text. */
function paramGroup({ params = {} }: EditableJob): EditGroup {
  const fields = Object.entries(params).flatMap(([name, param]): EditField[] => {
    const { default: defaultValue = '', description } =
      typeof param === 'object' ? param : { default: param };
    const own = { name: `params.${name}`, path: ['params', name], ...paramWords(name, description) };
    return typeof defaultValue === 'string' ? [{ ...own, defaultValue }] : [];
  });
  return { legend: 'Settings of the format (params)', rare: true, fields };
}

/** The fields of the file of a job, in groups; none where it is neither an import nor an export. */
export function editForm(file: EditableJob): {
  readonly location: 'any' | 'url' | 'path' | 'none';
  readonly what: 'source' | 'destination';
  readonly source: readonly EditField[];
  readonly groups: readonly EditGroup[];
} {
  const place = placeOf(file);
  const location =
    place === null ? 'none' : place.canChangeKind ? 'any' : place.kind === 'url' ? 'url' : 'path';
  const imports = file.at(['import']);
  if (imports === 'products' || imports === 'contacts') {
    const always = limitsFor(imports, 'upsert');
    const limits = limitsFor(imports, 'mirror').map((name) => {
      const limit = safetyLimit(name);
      const when = always.includes(name) ? {} : { when: 'mode=mirror' };
      return limitField(['safety', name], limit.title, limit, { name, ...when });
    });
    const isOfProducts = imports === 'products';
    const modes = isOfProducts ? MODE_GROUP.fields : [];
    const groups: EditGroup[] = [
      { ...MODE_GROUP, fields: [...modes, duplicatesField(imports)] },
      paramGroup(file),
      { legend: 'Safety limits', hint: LIMITS_HINT, fields: limits },
      ...(isOfProducts ? guardGroups(file) : []),
      WAVES_GROUP,
      APPROVAL_GROUP,
      ...(isOfProducts ? [PICTURES_GROUP] : []),
      ...notifyGroups(file),
    ];
    return { location, what: 'source', source: SOURCE_FIELDS, groups: groups.filter(canShowIn(file)) };
  }
  const exports = file.at(['export']);
  const fields = [...EXPORT_GROUP.fields, ...(exports === 'orders' ? [ORDER_FIELD] : [])];
  const group = { ...EXPORT_GROUP, fields: fields.filter((one) => canShowIn(file)({ fields: [one] })) };
  const groups = exports === undefined ? [] : [group, ...notifyGroups(file)];
  return { location, what: 'destination', source: [], groups: groups.filter(canShowIn(file)) };
}

const LIMITS_HINT = `They stop a run before its first request. Each is a number, a percentage such as 5%, or off. ${FLOOR_TEXT}`;

/** Whether a form can show all that a file has in the fields of a group. */
function canShowIn(file: EditableFile) {
  const isPlain = (value: unknown) => value === undefined || value === null || typeof value !== 'object';
  return ({ fields }: Pick<EditGroup, 'fields'>) =>
    fields.length > 0 &&
    fields.every(({ path, list, member }) => {
      const value = file.at(path);
      return (
        isPlain(value) || ((list ?? member) !== undefined && Array.isArray(value) && value.every(isPlain))
      );
    });
}

function fieldsOf(file: EditableJob): readonly EditField[] {
  const { source, groups } = editForm(file);
  return [...source, ...groups.flatMap(({ fields }) => fields)];
}

/** The paths of the fields, for problems beside them. */
export function pathsOf(file: EditableJob): ReadonlyMap<string, readonly Path[]> {
  const { what } = editForm(file);
  return new Map<string, readonly Path[]>([
    ['location', [[what, 'path'], [what, 'watch'], [what, 'url', 'address'], [what, 'url'], [what]]],
    ...fieldsOf(file).map(({ name, path }): [string, Path[]] => [name, [path]]),
    ['schedule', [['schedule', 'cron']]],
    ['timezone', [['schedule', 'timezone']]],
  ]);
}

/** What the form shows of a file. */
export function valuesOf(file: EditableJob, timezone: string): EditValues {
  const place = placeOf(file);
  const paused = file.paused('schedule');
  const schedule = file.at(['schedule']) ?? paused;
  const part = (name: 'cron' | 'timezone') =>
    isJsonObject(schedule) && name in schedule ? displayedValue(member(schedule, name)) : undefined;
  const cron = part('cron') ?? '';
  const isOn = file.at(['schedule']) !== undefined;
  return {
    ...(place !== null && { place: place.kind, location: displayedValue(file.at(place.path)) }),
    ...Object.fromEntries(fieldsOf(file).map((field) => [field.name, fieldValue(file, field)])),
    ...timesOf(cron),
    ...(schedule === undefined && { schedule: 'no' }),
    cron,
    paused: isOn || paused === undefined ? '' : 'on',
    timezone: part('timezone') ?? (schedule === undefined ? timezone : 'UTC'),
  };
}

/** What was typed over values, for the same fields. */
export function withTypedValues(file: EditableJob, values: EditValues, fields: FormFields): EditValues {
  const members = fieldsOf(file).flatMap(({ name, member }) => (member === undefined ? [] : [name]));
  const checks = new Set(['paused', ...members]);
  return mapValues(values, (value, name) => {
    // A check box that is not ticked is not sent.
    const isUnticked = checks.has(name) && fields[`was.${name}`] !== undefined;
    const typed = fields[name] ?? (isUnticked ? '' : value);
    // A tab is a delimiter.
    return name === 'delimiter' && typed.trim() === '' ? typed : typed.trim();
  });
}

/** What must change in a file so that it has the wanted values instead of the present ones. */
export function editsOf(file: EditableJob, now: EditValues, wanted: EditValues): YamlEdit[] {
  const changed = (name: string) => now[name] !== wanted[name];
  const fields = fieldsOf(file).filter(({ path }) => path[0] !== 'guards' && path[0] !== 'notify');
  const canChangeKind = placeOf(file)?.canChangeKind === true;
  return withoutAbsent([
    ...(changed('location') || (changed('place') && canChangeKind) ? locationEdits(file, wanted) : []),
    ...fieldEdits(file, fields, now, wanted),
    ...notifyEdits(file, now, wanted),
    ...guardEdits(file, now, wanted),
    ...scheduleEdits(file, now, wanted),
  ]);
}

/** The whole list of guards, where one of them has changed. */
function guardEdits(file: EditableFile, now: EditValues, wanted: EditValues): readonly YamlEdit[] {
  const guards = guardsIn(file);
  if (guards === undefined) return [];
  const name = (number: number, part: string) => `guards.${number}.${part}`;
  const isChanged = (number: number) =>
    GUARD_PARTS.some((part) => now[name(number, part)] !== wanted[name(number, part)]);
  const numbers = [...guards.keys(), guards.length];
  if (!numbers.some(isChanged)) return [];
  const value = numbers.flatMap((number): readonly object[] => {
    const before = guards[number];
    if (before !== undefined && !isChanged(number)) return [before];
    if ((wanted[name(number, 'field')] ?? '') === '') return [];
    const parts = GUARD_PARTS.map((part) => [part, wanted[name(number, part)] ?? ''] as const);
    return [
      Object.fromEntries(
        parts.filter(([, typed]) => typed !== '').map(([part, typed]) => [part, guardValue(typed)]),
      ),
    ];
  });
  return value.length === 0 ? [{ set: ['guards'], to: undefined }] : [{ set: ['guards'], value }];
}

function guardValue(typed: string) {
  if (typed === 'true' || typed === 'false') return typed === 'true';
  return /^-?\d+(\.\d+)?$/.test(typed) ? Number(typed) : typed;
}

function locationEdits(file: EditableFile, { place = '', location = '' }: EditValues): YamlEdit[] {
  const before = placeOf(file);
  if (before === null) return [];
  if (before.kind === place || !before.canChangeKind) return [{ set: before.path, to: location }];
  const kind = ['url', 'watch'].find((known) => known === place) ?? 'path';
  return [
    { set: ['source', kind], to: location },
    { set: before.path, to: undefined },
  ];
}

function scheduleEdits(file: EditableFile, now: EditValues, wanted: EditValues): YamlEdit[] {
  const isOn = file.at(['schedule']) !== undefined;
  const wasPaused = now['paused'] === 'on';
  if (wanted['schedule'] === 'no') {
    if (isOn) return [{ set: ['schedule'], to: undefined }];
    return wasPaused ? [{ dropPaused: 'schedule' }] : [];
  }
  const isPaused = wanted['paused'] === 'on';
  const { timezone = '' } = wanted;
  const cron = cronOf(wanted);
  const isNew = !isOn && !wasPaused;
  const edits: YamlEdit[] = withoutAbsent([
    cron !== undefined && cron !== cronOf(now) && { set: ['schedule', 'cron'], to: cron },
    (isNew || now['timezone'] !== timezone) && { set: ['schedule', 'timezone'], to: timezone || undefined },
  ]);
  if (edits.length === 0 && isPaused === wasPaused) return [];
  return withoutAbsent([wasPaused && { resume: 'schedule' }, ...edits, isPaused && { pause: 'schedule' }]);
}
