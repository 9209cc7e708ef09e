import { until } from '../../support/until.ts';
import type { HttpClient } from './http-client.ts';

/** The words of the page of a run once it has ended. */
export async function endOf(client: HttpClient, page: string): Promise<string> {
  const ended = async () => {
    const { words } = await client.get(page);
    return words.includes('Running started') ? '' : words;
  };
  return await until(ended, { everyMs: 50 });
}
