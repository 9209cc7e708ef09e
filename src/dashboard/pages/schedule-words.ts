import cronstrue from 'cronstrue';

/** `15 2 * * *` as `At 02:15, every day`; the expression itself where it cannot be put into words. */
export function scheduleWords(cron: string): string {
  try {
    const words = cronstrue.toString(cron, { use24HourTimeFormat: true });
    return /^At [\d:]+$/.test(words) ? `${words}, every day` : words;
  } catch {
    return cron;
  }
}
