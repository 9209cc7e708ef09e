import { basename, resolve } from 'node:path';
import { NEW_STORE } from '../../config/new-workspace/stores-text.ts';
import { askCrosswalk } from './ask-crosswalk.ts';
import { askJobName, askParams, askSchedule, localTimezone } from './ask-job.ts';
import { askMapping } from './ask-mapping.ts';
import { askSource } from './ask-source.ts';
import { askStore } from './ask-store.ts';
import { askVariables } from './ask-variables.ts';
import { askWeightUnit } from './ask-weight-unit.ts';
import type { WorkspaceToBe } from './compose-files.ts';
import { freeName } from './free-name.ts';
import type { Asking } from './init-options.ts';

/** All questions, one after the other. Nothing is written. `hasStores`: stores.yaml is there, and stays as it is. */
export async function askAll(asking: Asking, hasStores: boolean): Promise<WorkspaceToBe> {
  const { dir } = asking;
  const store = await askStore(asking, hasStores);
  const source = await askSource(asking);
  const mapping = await askMapping(asking, source.look.header);
  const spec = mapping.kind === 'known' ? mapping.spec : undefined;
  const imports = mapping.kind === 'known' ? mapping.spec.import : mapping.imports;
  const params = spec?.params ?? {};
  const paramValues = await askParams(asking, params);
  const contact = spec?.import === 'contacts' ? spec.contact : undefined;
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
      source: { path: source.path, encoding: source.encoding, delimiter: source.delimiter },
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
            imports,
            file: basename(source.path),
            header: source.look.header,
            suggested: mapping.suggested,
          },
  };
}

/** Beside the mapping that a workspace has, never in its place. */
function newMappingName(dir: string, job: string): string {
  return freeName(resolve(dir, 'mappings'), `${job}.yaml`).replace(/\.yaml$/, '');
}
