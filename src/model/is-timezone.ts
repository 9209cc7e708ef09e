/** Whether a time zone is known by this name, such as `Europe/London`; a bare offset such as `+02:00` names none. */
export function isTimezone(name: string): boolean {
  if (name === 'UTC') return true;
  if (/^[+-]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
