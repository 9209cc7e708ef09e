/** Characters that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word, quoted for the shell of the platform. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return /^[\w@%+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  return PLAIN.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
