import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from './http-client.ts';

const TRIES = 400;

/** The words of the page of a run once it has ended. */
export async function endOf(client: HttpClient, page: string): Promise<string> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { words } = await client.get(page);
    if (!words.includes('Under way')) return words;
    await sleep(50);
  }
  throw new Error(`${page} did not end`);
}
