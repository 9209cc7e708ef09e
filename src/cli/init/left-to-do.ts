import { toBeChosen } from '../../config/new-workspace/mapping-text.ts';
import type { WorkspaceToBe } from './compose-files.ts';

/** What must be done before the job can be planned; empty when it can be at once. */
export function leftToDo({ starter, crosswalkToCome, job, unset }: WorkspaceToBe): string[] {
  const fields = starter === undefined ? [] : toBeChosen(starter);
  const { crosswalk } = job;
  return [
    ...(fields.length === 0
      ? []
      : [`Say in mappings/${job.mapping}.yaml which column holds ${fields.join(' and ')}.`]),
    ...(crosswalk === undefined || !crosswalkToCome
      ? []
      : [
          `Put the ids of the store into ${crosswalk.path}: a CSV file with the columns ${crosswalk.id} and ${crosswalk.match}.`,
        ]),
    ...unset.map((variable) => `Set ${variable} in .env or in the environment.`),
  ];
}

/** Warns of variables of the process, which go before `.env`: that surprises those who have just answered otherwise. */
export function overridden(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables)
    .filter(([name, value]) => process.env[name] !== undefined && process.env[name] !== value)
    .map(
      ([name]) =>
        `${name} is set in the environment, which goes before .env: unset it, or that is what is used.`,
    );
}
