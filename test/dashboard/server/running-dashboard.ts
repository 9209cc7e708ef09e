import type { RunningCommand, Workspace } from '../../support/workspace.ts';
import { type HttpClient, httpClient } from './http-client.ts';

/** A dashboard in a process of its own, at its first start. */
export interface ServedDashboard {
  readonly url: string;
  readonly tokens: { readonly full: string; readonly readOnly: string };
  readonly command: RunningCommand;
  /** A client that has not signed in. */
  client(): HttpClient;
  signedIn(token: 'full' | 'readOnly'): Promise<HttpClient>;
}

/** Starts the dashboard of a workspace on a free port, and waits until it can be reached. */
export async function serveDashboard(
  workspace: Workspace,
  ...options: readonly string[]
): Promise<ServedDashboard> {
  const command = workspace.start('dashboard', '--listen', '0', '--new-token', ...options);
  await command.printed('New ones');
  const out = command.stdout();
  const url = /is at (\S+)/.exec(out)?.[1] ?? '';
  const tokens = {
    full: /full-[\w-]+/.exec(out)?.[0] ?? '',
    readOnly: /look-[\w-]+/.exec(out)?.[0] ?? '',
  };
  return {
    url,
    tokens,
    command,
    client: () => httpClient(url),
    async signedIn(token) {
      const client = httpClient(url);
      const answer = await client.submit(await client.get('/sign-in'), '/sign-in', { token: tokens[token] });
      if (answer.status !== 200) throw new Error(`Could not sign in: ${answer.words}`);
      return client;
    },
  };
}
