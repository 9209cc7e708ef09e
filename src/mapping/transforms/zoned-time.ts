/** Milliseconds since the epoch at which clocks in the time zone show what UTC clocks show at `wallTime`. */
export function zonedTime(wallTime: number, timezone: string): number {
  if (timezone === 'UTC') return wallTime;
  // The offset at the wrong moment is right but for the hours around a change of the clock: a second look settles those.
  const first = wallTime - offsetAt(wallTime, timezone);
  return wallTime - offsetAt(first, timezone);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetAt(time: number, timezone: string): number {
  let format = formats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(timezone, format);
  }
  const parts = new Map(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const read = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const shown = Date.UTC(
    read('year'),
    read('month') - 1,
    read('day'),
    read('hour'),
    read('minute'),
    read('second'),
  );
  return shown - Math.floor(time / 1000) * 1000;
}
