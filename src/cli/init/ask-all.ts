import { basename, resolve } from 'node:path';
import { NEW_STORE, type NewWorkspace } from '../../config/new-workspace/new-workspace.ts';
import { freeName } from '../../config/new-workspace/write-together.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { askCrosswalk } from './ask-crosswalk.ts';
import { askJobName, askParams, askSchedule, localTimezone } from './ask-job-name.ts';
import { askMapping } from './ask-mapping.ts';
import { askSource } from './ask-source.ts';
import { askStore, askVariables, askWeightUnit } from './ask-store.ts';
import type { Asking } from './asking.ts';

/** Asks all questions, and writes nothing. `hasStores`: there is a stores.yaml, which will not be changed. */
export async function askAll(asking: Asking, hasStores: boolean): Promise<NewWorkspace> {
  const { dir } = asking;
  const store = await askStore(asking, hasStores);
  const source = await askSource(asking);
  const mapping = await askMapping(asking, source.look);
  const { spec } = mapping;
  const imports = spec.import;
  const params = spec.params ?? {};
  const paramValues = await askParams(asking, params);
  const contact = spec.import === 'contacts' ? spec.contact : undefined;
  const crosswalk = imports === 'contacts' ? await askCrosswalk(asking, contact) : undefined;
  const weightUnit = store.kind === 'known' ? undefined : await askWeightUnit(asking, imports);
  const name = await askJobName(asking, mapping.kind === 'known' ? mapping.name : `my-${imports}`);
  const schedule = await askSchedule(asking);
  const variables = await askVariables(asking, store);

  const mappingName = mapping.kind === 'known' ? mapping.name : newMappingName(dir, name);
  return {
    dir,
    weightUnit,
    variables,
    unset: store.kind === 'known' ? store.unset.filter((variable) => variables[variable] === undefined) : [],
    sandbox: store.kind === 'new' && store.sandbox,
    copyOf: source.copyOf,
    job: {
      name,
      imports,
      store: store.kind === 'known' ? store.name : NEW_STORE,
      source: source.written,
      mapping: mappingName,
      params,
      paramValues,
      crosswalk,
      schedule,
      timezone: schedule?.timezone ?? localTimezone(),
    },
    crosswalkToCome: crosswalk?.there === false,
    starter:
      mapping.kind === 'known'
        ? undefined
        : {
            name: mappingName,
            file: basename(source.written.path),
            header: source.look.header,
            proposal: mapping.proposal,
            spec,
          },
  };
}

/** A name that no mapping of the workspace has. */
function newMappingName(dir: string, job: string): string {
  return freeName(resolve(dir, 'mappings'), `${job}.yaml`).replace(/\.yaml$/, '');
}

/** Without a terminal no question can be asked: UsageError that names every missing option. */
export function refuseMissingFlags({ options, prompter, known }: Asking, existing: boolean): void {
  if (prompter !== null) return;
  const missing: string[] = [];
  if (!existing && !options.sandbox) {
    if (options.storeUrl === undefined && known.url === undefined) {
      missing.push('--store-url URL (or --sandbox)');
    }
    if (known.apiKey === undefined) {
      missing.push('STORE_API_KEY in the environment (there is no option for it: others could read it)');
    }
  }
  if (options.source === undefined) missing.push('--source FILE');
  if (!options.yes) {
    if (options.mapping === undefined) missing.push('--mapping NAME (or --yes for the recognised one)');
    if (options.job === undefined) missing.push('--job NAME (or --yes for the default)');
  }
  if (missing.length === 0) return;
  throw new UsageError(
    `There is no terminal for questions. Missing:\n${missing.map((flag) => `  ${flag}`).join('\n')}`,
  );
}
