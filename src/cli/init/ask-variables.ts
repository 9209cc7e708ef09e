import { STORE_VARIABLES } from '../../config/new-workspace/stores-text.ts';
import { looksSecret } from '../../model/secret-redactor.ts';
import type { StoreAnswer } from './ask-store.ts';
import type { Asking } from './init-options.ts';

/** Asks for what goes into `.env`: of a new store all, of one that is there what it still waits for. */
export async function askVariables(
  { prompter }: Asking,
  store: StoreAnswer,
): Promise<Record<string, string>> {
  if (store.kind === 'new') {
    return { [STORE_VARIABLES.url]: store.url, [STORE_VARIABLES.apiKey]: store.apiKey };
  }
  const values: Record<string, string> = {};
  for (const name of prompter === null ? [] : store.unset) {
    const check = (text: string) => (text.trim() === '' ? 'expected a value' : undefined);
    const question = `The store ${store.name} waits for ${name} (it goes into .env):`;
    const value = looksSecret(name)
      ? await prompter?.secret(question, check)
      : await prompter?.text(question, { check });
    if (value !== undefined) values[name] = value.trim();
  }
  return values;
}
