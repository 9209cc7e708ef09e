const IGNORED = ['.env', '.storeferry/'] as const;

/** What is to be added to a `.gitignore` (null: there is none), so that keys and state stay out of git; '' when nothing is. */
export function gitignoreAddition(existing: string | null): string {
  const lines = new Set((existing ?? '').split(/\r?\n/).map((line) => line.trim()));
  const missing = IGNORED.filter((entry) => !lines.has(entry) && !lines.has(`/${entry}`));
  if (missing.length === 0) return '';
  const start = existing === null || existing === '' || existing.endsWith('\n') ? '' : '\n';
  return `${start}${missing.join('\n')}\n`;
}
