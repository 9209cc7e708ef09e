import type { RunningCommand, Workspace } from '../../support/workspace.ts';
import { type HttpClient, httpClient } from './http-client.ts';

/** A dashboard in a process of its own, at its first start. */
export interface ServedDashboard {
  readonly url: string;
  readonly tokens: { readonly full: string; readonly readOnly: string };
  readonly command: RunningCommand;
  /** A client that has not signed in. */
  client(): HttpClient;
  /** The same at the port it listens on, where a proxy would reach it. */
  local(): HttpClient;
  signedIn(token: 'full' | 'readOnly'): Promise<HttpClient>;
}

/** Starts the dashboard of a workspace on a free port, and waits until it can be reached. */
export async function serveDashboard(
  workspace: Workspace,
  ...options: readonly string[]
): Promise<ServedDashboard> {
  const command = workspace.start('dashboard', '--listen', '0', '--new-token', ...options);
  await command.printed('To make new tokens');
  const out = command.stdout();
  const url = /is at (\S+)/.exec(out)?.[1] ?? '';
  const port = /"port":(\d+)/.exec(command.stderr())?.[1] ?? '';
  const tokens = {
    full: /full-[\w-]+/.exec(out)?.[0] ?? '',
    readOnly: /look-[\w-]+/.exec(out)?.[0] ?? '',
  };
  return {
    url,
    tokens,
    command,
    client: () => httpClient(url),
    local: () => httpClient(`http://127.0.0.1:${port}/`),
    async signedIn(token) {
      const client = httpClient(url);
      const answer = await client.submit(await client.get('/sign-in'), '/sign-in', { token: tokens[token] });
      if (answer.status !== 200) throw new Error(`Could not sign in: ${answer.words}`);
      return client;
    },
  };
}
