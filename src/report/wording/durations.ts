const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `350 ms`, `12.3 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`: two units at most. */
export function formatDuration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 99.95 * SECOND) return `${Number((ms / SECOND).toFixed(1))} s`;
  if (ms < HOUR - SECOND / 2) return twoUnits(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY - MINUTE / 2) return twoUnits(ms, HOUR, 'h', MINUTE, 'min');
  return twoUnits(ms, DAY, 'd', HOUR, 'h');
}

/** `just now`, `5 min ago`, `3 h ago`, `2 d ago`. */
export function formatAgo(ms: number): string {
  if (ms < MINUTE) return 'just now';
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ago`;
  return `${Math.floor(ms / DAY)} d ago`;
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const smalls = Math.round(ms / small);
  const ratio = large / small;
  const rest = smalls % ratio;
  const whole = `${Math.floor(smalls / ratio)} ${largeName}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallName}`;
}
