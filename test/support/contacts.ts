import { type Store, type StoreOptions, startStore } from './store.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** A row of a small CRM export; its e-mail is made of its number. */
export interface CrmRow {
  readonly number: number;
  readonly email?: string;
  readonly first?: string;
  readonly phone?: string;
  readonly city?: string;
  readonly tags?: string;
  readonly optedOut?: string;
}

/** As HubSpot exports it. */
export function crmExport(rows: readonly CrmRow[]): string {
  const lines = rows.map(({ number, email = emailOf(number), first = `Name ${number}`, ...row }) =>
    [email, first, row.phone ?? '', row.city ?? '', row.tags ?? '', row.optedOut ?? ''].join(','),
  );
  return `${['Email,First Name,Phone Number,City,Tags,Unsubscribed from all email', ...lines].join('\n')}\n`;
}

export function emailOf(number: number): string {
  return `contact-${number}@mail.example`;
}

/** A crosswalk that gives each number the id `1000 + number`. */
export function crosswalkOf(numbers: readonly number[]): string {
  return `${['id,email', ...numbers.map((number) => `${1000 + number},${emailOf(number)}`)].join('\n')}\n`;
}

/** A store with contacts, and a workspace whose job `crm` brings an export into it. */
export interface Crm extends AsyncDisposable {
  readonly store: Store;
  readonly workspace: Workspace;
}

interface CrmOptions {
  readonly rows: readonly CrmRow[];
  /** The numbers that the crosswalk knows; all of the rows by default. */
  readonly known?: readonly number[];
  /** Further lines of the job. */
  readonly job?: Readonly<Record<string, string>>;
  readonly store?: StoreOptions;
  readonly env?: Readonly<Record<string, string>>;
}

/** Sets up an import of such rows; the store has the contacts 1 001 to 1 100. */
export async function setupCrm({ rows, known, job = {}, store: options, env }: CrmOptions): Promise<Crm> {
  const contacts = Array.from({ length: 100 }, (_, index) => 1001 + index);
  const store = await startStore({ seed: 1, contacts, ...options });
  const lines = Object.entries(job).map(([key, value]) => `${key}: ${value}\n`);
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n  limits: { concurrency: 4 }\n`,
      'jobs/crm.yaml': `import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: hubspot-contacts\ncrosswalk: { path: ids.csv, match: email }\n${lines.join('')}`,
      'crm.csv': crmExport(rows),
      'ids.csv': crosswalkOf(known ?? [...new Set(rows.map(({ number }) => number))]),
    },
    { STORE_API_KEY: store.apiKey, ...env },
  );
  return {
    store,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}
