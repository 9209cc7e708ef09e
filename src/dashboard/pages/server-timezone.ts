/** The zone of this machine's clock, by which times are shown that belong to no schedule. */
export function serverTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
