/** The time zone of this machine, for times that belong to no schedule. */
export function serverTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
