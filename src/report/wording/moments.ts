const FORMAT = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** `Sat 21 Nov 2026, 02:15 UTC`: alike on every machine. */
export function formatMoment(at: number): string {
  return `${FORMAT.formatToParts(at)
    .filter(({ type }) => type !== 'literal')
    .map(({ type, value }) =>
      type === 'hour'
        ? `${value}:`
        : type === 'year'
          ? `${value}, `
          : type === 'minute'
            ? value
            : `${value} `,
    )
    .join('')} UTC`;
}
