/*
 * How Redis keeps doubts and senders; sqlite/doubts.ts has the same as columns, and says what they mean.
 *
 * A doubt, by its key: `prior` and `at_work`, a digit each; the senders, with blanks between; the job, or `*` once several
 * jobs have sent the key. One line each.
 *
 * A sender, by its name, with blanks between: the moment of its last heartbeat by the clock of Redis; how long after that
 * its last request may run; and the serial of its last group, or `*` where it may have sent any key.
 */

/** In a script: functions that read and write the row of a doubt. `parseDoubt` gives nothing where there is no row. */
export const DOUBT_FUNCTIONS = `
local function parseDoubt(row)
  return string.match(row or '', '^(%d)(%d)\\n([^\\n]*)\\n(.*)$')
end
local function doubtRow(prior, atWork, senders, job)
  return prior .. atWork .. '\\n' .. senders .. '\\n' .. job
end`;

/** Whether the key in doubt was sent by this job, alone or among others. */
export function isDoubtOf(job: string, row: string): boolean {
  return row.endsWith(`\n${job}`) || row.endsWith('\n*');
}

/**
 * In a script, with `now` and the hash of senders: the milliseconds until the last request of each sender is over
 * (`remaining`), and of those that may have sent any key (`everything`). Senders whose requests are over are removed.
 */
export const remainingOf = (senders: string): string => `
local remaining, everything = {}, 0
local rows = redis.call('HGETALL', ${senders})
for at = 1, #rows, 2 do
  local heartbeat, within, star = string.match(rows[at + 1], '^(%d+) (%d+)( ?%*?)')
  local ms = math.min(tonumber(within), math.max(0, heartbeat + within - now))
  if ms == 0 then
    redis.call('HDEL', ${senders}, rows[at])
  elseif star == ' *' then
    everything = math.max(everything, ms)
  else
    remaining[rows[at]] = ms
  end
end`;

/** The row of a sender that may have sent any key. */
export function senderOfAnyKey(heartbeatMs: number, requestsEndWithinMs: number): string {
  return `${heartbeatMs} ${requestsEndWithinMs} *`;
}
