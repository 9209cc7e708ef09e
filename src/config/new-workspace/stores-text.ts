import { placeholder } from '../placeholder.ts';
import type { StoreConfig } from '../stores.ts';
import { schemaLine } from './yaml-text.ts';

/** The name of the store in a new workspace. */
export const NEW_STORE = 'main';

/** The variables that a new workspace keeps in `.env`. */
export const STORE_VARIABLES = { url: 'STORE_URL', apiKey: 'STORE_API_KEY' } as const;

/** `stores.yaml` of a new workspace: one store, whose address and key come from the environment. */
export function storesText(weightUnit: StoreConfig['weightUnit']): string {
  return `${schemaLine('stores', '')}
# The stores that jobs write to and read from, by name. What stands in \${…} comes from the environment, or from the
# file .env beside this one: keys belong there and nowhere else.
${NEW_STORE}:
  baseUrl: ${placeholder(STORE_VARIABLES.url)}
  apiKey: ${placeholder(STORE_VARIABLES.apiKey)}
  weightUnit: ${weightUnit} # kg, g, lb or oz: the unit the store shows; the source's weights are converted into it
  # Ceilings on what is sent. Storeferry begins slowly by itself, and slows down when the store struggles.
  # limits: { concurrency: 16, requestsPerSecond: 20 }
`;
}
