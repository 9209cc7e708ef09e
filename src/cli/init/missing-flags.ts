import { UsageError } from '../../model/errors.ts';
import type { Asking } from './init-options.ts';

/** Without a terminal nobody can be asked: UsageError that names every flag whose answer is missing. */
export function refuseMissingFlags({ options, prompter, environment }: Asking, existing: boolean): void {
  if (prompter !== null) return;
  const missing: string[] = [];
  if (!existing && options.sandbox !== true) {
    if (options.storeUrl === undefined && environment.get('STORE_URL') === undefined) {
      missing.push('--store-url URL (or --sandbox to rehearse)');
    }
    if (environment.get('STORE_API_KEY') === undefined) {
      missing.push('STORE_API_KEY in the environment (there is no flag for it: others could read it)');
    }
  }
  if (options.source === undefined) missing.push('--source FILE');
  if (options.yes !== true) {
    if (options.mapping === undefined) missing.push('--mapping NAME (or --yes to take the one guessed)');
    if (options.job === undefined) missing.push('--job NAME (or --yes for the usual one)');
  }
  if (missing.length === 0) return;
  throw new UsageError(
    `There is no terminal to ask at. Missing:\n${missing.map((flag) => `  ${flag}`).join('\n')}`,
  );
}
