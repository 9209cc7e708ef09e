import { expect, it } from 'vitest';
import { cronOf, timesOf, whyNoTime } from '../../src/config/job/job.ts';

it.each([
  ['15 2 * * *', { schedule: 'day', time: '02:15' }],
  ['05 06,18 * * *', { schedule: 'day', time: '06:05, 18:05' }],
  ['30 4 * * MON-FRI', { schedule: 'weekdays', time: '04:30' }],
  ['0 6 * * 7', { schedule: 'week', weekday: '0', time: '06:00' }],
  ['0 6 28 * *', { schedule: 'month', monthDay: '28', time: '06:00' }],
  ['*/5 * * * *', { schedule: 'often', every: '5' }],
  ['0 * * * *', { schedule: 'often', every: '60' }],
  ['0 */4 * * *', { schedule: 'often', every: '240' }],
])('shows %s as fields that say the same times', (cron, fields) => {
  const times = timesOf(cron);
  expect(times).toMatchObject(fields);
  const again = timesOf(cronOf(times) ?? '');
  expect(again).toEqual(times);
});

it.each([
  ...['0 6 31 * *', '0 6 1,15 * *', '*/7 * * * *', '0 6 1 * 1', '0 6 * 1 *', '0 0 6 * * *', '0 6-8 * * *'],
  ...['@daily', 'at noon', '', '75 2 * * *', '0 6 * * 1,3', '1,31 6 * * *', '15 * * * *'],
])('has no fields for %s, and says no other times', (cron) => {
  expect(timesOf(cron).schedule).toBe('other');
  expect(cronOf(timesOf(cron))).toBeUndefined();
});

it.each(['24:00', '6', 'noon', '06:15, 18:30', '06:00,', '-1:00', ''])('refuses the time "%s"', (time) => {
  expect(whyNoTime('time', time)).toContain('Give hours and minutes');
  expect(cronOf({ schedule: 'day', time })).toBeUndefined();
});
