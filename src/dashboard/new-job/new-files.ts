import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { freeName } from '../../config/edit-file.ts';
import { whyNoSchedule } from '../../config/job/job.ts';
import { baseUrlSchema, isName, storeSchema } from '../../config/store-config.ts';
import type { Workspace } from '../../config/workspace.ts';
import { unsetParams, updateMatch } from '../../mapping/spec/mapping-spec.ts';
import { delimiterName } from '../../model/row.ts';
import {
  NEW_STORE,
  type NewSource,
  type NewWorkspace,
  STORE_VARIABLES,
} from '../../onboarding/new-workspace.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { serverTimezone } from '../pages/moment.ts';
import type { FormFields } from '../route-parts.ts';
import { type Draft, type DraftFile, type DraftState, OWN_MAPPING } from './draft.ts';
import { UPLOADS_FOLDER } from './upload-targets.ts';

/** A sentence about what is missing or wrong, and the field of the form; null for none. */
export interface FieldProblem {
  readonly field: string | null;
  readonly text: string;
}

/** The answers of a draft as `init` has them, or what is still missing or wrong. */
export type NewFiles = { readonly workspace: NewWorkspace } | { readonly problems: readonly FieldProblem[] };

/** Turns the answers of a draft into a new job, for the code of `init` that writes its files. */
export function newFilesOf(
  draft: Draft,
  { reading, file }: DraftState,
  dashboard: DashboardContext,
): NewFiles {
  const { fields } = draft;
  const workspace = dashboard.openWorkspace();
  const { dir } = workspace;
  if (file?.spec === undefined || file.imports === undefined)
    return { problems: [{ field: null, text: 'Answer the open questions about the file first.' }] };
  const { spec, imports, mapping, proposal, params, look } = file;
  const store = storeOf(draft, file, workspace, dashboard);
  const schedule = scheduleOf(fields);
  const name = (fields['name'] ?? '').trim();
  const noName = whyNoJobName(dir, name);
  const problems: FieldProblem[] = [
    ...unsetParams(spec, params).map((param) => ({
      field: `param.${param.name}`,
      text: `The mapping needs the parameter ${param.name}.`,
    })),
    ...(noName === undefined ? [] : [{ field: 'name', text: noName }]),
    ...('problems' in store ? store.problems : []),
    ...('problem' in schedule ? [schedule.problem] : []),
  ];
  if (problems.length > 0 || 'problems' in store || 'problem' in schedule) return { problems };
  const isOwn = mapping === OWN_MAPPING;
  const mappingName = isOwn
    ? freeName(join(dir, 'mappings'), `${name}.yaml`).replace(/\.yaml$/, '')
    : mapping;
  const source = sourceOf(draft, dir, reading);
  const crosswalk = needsCrosswalk(file) ? { path: CROSSWALK, match: 'email', id: 'id' } : undefined;
  return {
    workspace: {
      ...store.answer,
      dir,
      copyOf: draft.source.kind === 'file' ? draft.source.upload.path : undefined,
      crosswalkToCome: crosswalk !== undefined && !existsSync(join(dir, CROSSWALK)),
      job: {
        name,
        imports,
        store: store.name,
        source,
        mapping: mappingName,
        match: updateMatch(spec),
        crosswalk,
        params: spec.params ?? {},
        paramValues: params,
        schedule: schedule.value,
        timezone: schedule.value?.timezone ?? serverTimezone(),
      },
      starter:
        proposal === undefined
          ? undefined
          : {
              name: mappingName,
              file: basename(source.path ?? source.url),
              header: look.header,
              proposal,
              spec,
            },
    },
  };
}

/** Where a job looks for the ids of contacts. */
const CROSSWALK = 'contact-ids.csv';

/** Whether the ids of contacts must come from a second file. */
export function needsCrosswalk({ spec }: Pick<DraftFile, 'spec'>): boolean {
  return spec?.import === 'contacts' && spec.contact.id === undefined;
}

/** A name that no job of the workspace has. */
export function freeJobName(dir: string, usual: string): string {
  return freeName(join(dir, 'jobs'), `${usual}.yaml`).replace(/\.yaml$/, '');
}

function whyNoJobName(dir: string, name: string): string | undefined {
  if (!isName(name))
    return `The job cannot be called '${name}': at most 64 letters, digits, dots, - and _, beginning with a letter or digit.`;
  return existsSync(join(dir, 'jobs', `${name}.yaml`))
    ? `There is a job ${name} already: choose another name.`
    : undefined;
}

function sourceOf(
  draft: Draft,
  dir: string,
  { headerRow, delimiter, ...others }: DraftState['reading'],
): NewSource {
  const read = {
    ...others,
    headerRow: headerRow === undefined ? undefined : Number(headerRow),
    delimiter: delimiter && (delimiterName(delimiter) ?? delimiter),
  };
  if (draft.source.kind === 'web') return { url: draft.source.url, ...read };
  const free = freeName(join(dir, UPLOADS_FOLDER), basename(draft.source.upload.path));
  return { path: `${UPLOADS_FOLDER}/${free}`, ...read };
}

type StoreAnswer = Pick<NewWorkspace, 'weightUnit' | 'currency' | 'variables' | 'unset' | 'sandbox'>;

function storeOf(
  { fields, apiKey: typed }: Draft,
  { preview }: DraftFile,
  workspace: Workspace,
  { newStore }: Pick<DashboardContext, 'newStore'>,
): { readonly name: string; readonly answer: StoreAnswer } | { readonly problems: readonly FieldProblem[] } {
  const names = workspace.inspection.stores().names;
  const several = typeof preview === 'object' && preview.currencies.isMixed ? preview.currencies.words : [];
  if (names !== undefined) {
    const name = fields['store'] ?? names[0] ?? '';
    if (!names.includes(name)) return { problems: [{ field: 'store', text: 'Choose the store.' }] };
    if (several.length > 0) {
      const text = `The prices are in ${several.join(', ')}: add \`currency:\` to the store ${name} in stores.yaml.`;
      return { problems: [{ field: 'store', text }] };
    }
    const unset = workspace.inspection.store(name)?.unset.map((variable) => variable.name) ?? [];
    return {
      name,
      answer: { weightUnit: undefined, variables: {}, unset: [...new Set(unset)], sandbox: false },
    };
  }
  if (workspace.files.stores() !== undefined)
    return { problems: [{ field: null, text: 'stores.yaml has errors: correct it first.' }] };
  const unit = storeSchema.shape.weightUnit.safeParse(fields['weightUnit']);
  const weightUnit = unit.success ? unit.data : 'kg';
  const written = (fields['currency'] ?? '').trim();
  const currency = written === '' ? undefined : storeSchema.shape.currency.safeParse(written);
  const isSandbox = fields['storeKind'] === 'sandbox';
  const known = newStore.known();
  const url = baseUrlSchema.safeParse(isSandbox ? newStore.sandbox.url : (fields['url'] ?? '').trim());
  const isKnown = url.success && known.url !== undefined && originOf(url.data) === originOf(known.url);
  // The key of the environment goes to its own store only, wherever a visitor wants it.
  const key = isSandbox ? newStore.sandbox.apiKey : (typed ?? (isKnown ? known.apiKey : undefined) ?? '');
  const apiKey = storeSchema.shape.apiKey.safeParse(key);
  const noKey =
    key === ''
      ? `The API key of the store is missing.${known.apiKey === undefined ? '' : ' The known key is for the known address only.'}`
      : !apiKey.success && `The API key: ${apiKey.error.issues[0]?.message}.`;
  const problems: FieldProblem[] = [
    ...(url.success
      ? []
      : [{ field: 'url', text: `The address of the store: ${url.error.issues[0]?.message}.` }]),
    ...(currency?.success === false
      ? [{ field: 'currency', text: `The currency: ${currency.error.issues[0]?.message}.` }]
      : []),
    ...(currency === undefined && several.length > 0
      ? [
          {
            field: 'currency',
            text: `The prices are in ${several.join(', ')}: say which the store sells in.`,
          },
        ]
      : []),
    ...(noKey === false ? [] : [{ field: 'apiKey', text: noKey }]),
  ];
  if (!url.success || problems.length > 0) return { problems };
  const variables = { [STORE_VARIABLES.url]: url.data, [STORE_VARIABLES.apiKey]: key };
  const [other] = known.overridden(variables);
  if (other !== undefined) {
    // Else a key of the environment would go to the typed address.
    const text = `The environment of the dashboard sets ${other} to another value, which would be used instead. Remove it there, or write stores.yaml by hand.`;
    return { problems: [{ field: other === STORE_VARIABLES.url ? 'url' : 'apiKey', text }] };
  }
  return {
    name: NEW_STORE,
    answer: { weightUnit, currency: currency?.data, variables, unset: [], sandbox: isSandbox },
  };
}

function originOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).origin : undefined;
}

/** The schedule of a form, undefined for none; or why there cannot be one. */
function scheduleOf(
  fields: FormFields,
):
  | { readonly value: { readonly cron: string; readonly timezone: string } | undefined }
  | { readonly problem: FieldProblem } {
  const chosen = fields['schedule'] ?? 'no';
  if (chosen === 'no') return { value: undefined };
  const cron = (chosen === 'other' ? (fields['cron'] ?? '') : chosen).trim();
  const timezone = (fields['timezone'] ?? '').trim() || serverTimezone();
  const wrong = whyNoSchedule(cron, timezone);
  if (wrong === undefined) return { value: { cron, timezone } };
  const field = whyNoSchedule(cron, 'UTC') === undefined ? 'timezone' : 'cron';
  return { problem: { field, text: `The schedule '${cron}' in ${timezone}: ${wrong}.` } };
}
