import type { RegisteredCommand } from './define-command.ts';

/**
 * All commands, in the order of help. To add one, add a file to commands/ and an entry here. A definition is loaded
 * only for its own help and run, so that every command starts quickly.
 */
export const COMMANDS: readonly RegisteredCommand[] = [
  {
    name: 'init',
    summary: 'create a workspace interactively, or add a job to one, and plan your own file',
    load: async () => (await import('./commands/init-command.ts')).initCommand,
    alias: ['new'],
  },
  {
    name: 'check',
    summary: 'validate stores, jobs and mappings, and run the tests in mappings; offline',
    load: async () => (await import('./commands/check-command.ts')).checkCommand,
    alias: ['validate'],
  },
  {
    name: 'probe',
    summary: 'learn what a store does where the API document leaves it open; at most 40 requests',
    load: async () => (await import('./commands/probe-command.ts')).probeCommand,
    alias: ['inspect'],
  },
  {
    name: 'contacts',
    summary: 'find the ids of the contacts of a store by their e-mail addresses, for `crosswalk: store`',
    load: async () => (await import('./commands/contacts-command.ts')).contactsCommand,
    alias: ['scan'],
  },
  {
    name: 'plan',
    summary: 'show what a run would change; sends nothing to the store',
    load: async () => (await import('./commands/plan-command.ts')).planCommand,
    alias: ['preview'],
  },
  {
    name: 'run',
    summary: 'run a job in this process: apply an import, write an export; continues an unfinished run',
    load: async () => (await import('./commands/run-command.ts')).runCommand,
    alias: ['import', 'sync'],
  },
  {
    name: 'approve',
    summary: 'apply exactly the plan of a run that waits for approval or was stopped by a safety limit',
    load: async () => (await import('./commands/approve-command.ts')).approveCommand,
    alias: ['apply'],
  },
  {
    name: 'discard',
    summary: 'discard a plan that waits for approval: it can no longer be sent',
    load: async () => (await import('./commands/discard-command.ts')).discardCommand,
    alias: ['reject', 'dismiss'],
  },
  {
    name: 'retry',
    summary: 'send the corrected rejects file of a run',
    load: async () => (await import('./commands/retry-command.ts')).retryCommand,
  },
  {
    name: 'release',
    summary: 'send records that a guard has held, exactly as they were held',
    load: async () => (await import('./commands/release-command.ts')).releaseCommand,
    alias: ['unhold'],
  },
  {
    name: 'undo',
    summary: 'plan the inverse of a run, which restores the earlier values; sends nothing',
    load: async () => (await import('./commands/undo-command.ts')).undoCommand,
    alias: ['revert', 'rollback'],
  },
  {
    name: 'promote',
    summary: 'plan to send to another store what a run has sent; sends nothing',
    load: async () => (await import('./commands/promote-command.ts')).promoteCommand,
  },
  {
    name: 'clone',
    summary: 'plan to rebuild in a store the catalog that it, or another one, had at a time; sends nothing',
    load: async () => (await import('./commands/clone-command.ts')).cloneCommand,
    alias: ['copy'],
  },
  {
    name: 'verify',
    summary:
      'estimate how many records the store has lost: send a random sample of acknowledged records again',
    load: async () => (await import('./commands/verify-command.ts')).verifyCommand,
  },
  {
    name: 'drift',
    summary: 'find what was edited, deleted or made again in the store since it last answered',
    load: async () => (await import('./commands/drift-command.ts')).driftCommand,
    alias: ['diff', 'compare'],
  },
  {
    name: 'runs',
    summary: 'list the jobs, when each runs next, and the latest runs; or show one run',
    load: async () => (await import('./commands/runs-command.ts')).runsCommand,
    alias: ['status', 'list'],
  },
  {
    name: 'audit',
    summary: 'verify that no entry of the audit log was altered or removed; or print it as JSON Lines',
    load: async () => (await import('./commands/audit-command.ts')).auditCommand,
  },
  {
    name: 'show',
    summary: 'show a record as the store last acknowledged it, and which job set each field',
    load: async () => (await import('./commands/show-command.ts')).showCommand,
  },
  {
    name: 'history',
    summary: 'list the versions of a record that the store acknowledged: when, by which run, from which line',
    load: async () => (await import('./commands/history-command.ts')).historyCommand,
    alias: ['log'],
  },
  {
    name: 'catalog',
    summary: 'write the products of a store as it had acknowledged them at a time: CSV, JSONL, XLSX',
    load: async () => (await import('./commands/catalog-command.ts')).catalogCommand,
  },
  {
    name: 'forget',
    summary:
      'remove what Storeferry has kept of a contact: ledger, history, rejects; for a request of erasure',
    load: async () => (await import('./commands/forget-command.ts')).forgetCommand,
    alias: ['erase', 'delete'],
  },
  {
    name: 'cancel',
    summary: 'stop a run in any process, or remove it from the queue',
    load: async () => (await import('./commands/cancel-command.ts')).cancelCommand,
    alias: ['stop', 'abort'],
  },
  {
    name: 'stats',
    summary: 'draw the history of the subscriber lists: subscribers, open and click rate',
    load: async () => (await import('./commands/stats-command.ts')).statsCommand,
  },
  {
    name: 'export',
    summary: 'compare the files of an export of new orders with their manifests and with the store',
    load: async () => (await import('./commands/export-command.ts')).exportCommand,
    alias: ['reconcile'],
  },
  {
    name: 'enqueue',
    summary: 'queue a run of a job for the workers',
    load: async () => (await import('./commands/enqueue-command.ts')).enqueueCommand,
  },
  {
    name: 'worker',
    summary: 'run jobs on their schedules, and queued runs; with REDIS_URL any number of workers, else one',
    load: async () => (await import('./commands/worker-command.ts')).workerCommand,
  },
  {
    name: 'dashboard',
    summary: 'show jobs, runs, reports and list trends in a browser, and start runs there; sign-in by token',
    load: async () => (await import('./commands/dashboard-command.ts')).dashboardCommand,
    alias: ['serve'],
  },
  {
    name: 'tokens',
    summary: 'list, make and revoke the tokens by which programs use the API of the dashboard',
    load: async () => (await import('./commands/tokens-command.ts')).tokensCommand,
  },
  {
    name: 'sandbox',
    summary: 'serve a complete storefront on this machine, for tests',
    load: async () => (await import('./commands/sandbox-command.ts')).sandboxCommand,
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of a kind of file, for editors',
    load: async () => (await import('./commands/schema-command.ts')).schemaCommand,
  },
  {
    name: 'completion',
    summary: 'print the script by which a shell completes commands, options and jobs: bash, zsh, fish',
    load: async () => (await import('./commands/completion-command.ts')).completionCommand,
  },
  {
    name: 'demo',
    summary:
      'import a sample catalog twice, then contacts, and export list statistics, in a temporary folder',
    load: async () => (await import('./commands/demo-command.ts')).demoCommand,
  },
];
