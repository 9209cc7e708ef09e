/**
 * Compares marks with memos where they lie, so that of most keys a single letter comes back: marks of a whole ledger
 * would be 40 MB, and reading them costs more than anything else that a night does with Redis.
 *
 * KEYS: marks, doubts. ARGV: job, fingerprint of what is in doubt, then memo (empty where there is none) and key, again
 * and again. Gives a letter a key (`=` as expected, `-` unknown, `?` another mark), then the other marks in order.
 */
export const COMPARE_SCRIPT = `
local job = ARGV[1]
local wanted = {}
for at = 4, #ARGV, 2 do wanted[#wanted + 1] = ARGV[at] end
local found = redis.call('HMGET', KEYS[1], unpack(wanted))
local doubts = redis.call('HLEN', KEYS[2]) > 0 and redis.call('HMGET', KEYS[2], unpack(wanted)) or {}
local letters, answer = {}, { '' }
for at, mark in ipairs(found) do
  if not mark then
    letters[at] = '-'
  else
    if doubts[at] then
      local id, owner = string.match(mark, '^([^\\n]*)\\n[^\\n]*\\n(.*)$')
      mark = id .. '\\n' .. ARGV[2] .. '\\n' .. owner
    end
    local memo = ARGV[at * 2 + 1]
    local ending = ' ' .. memo .. '\\n' .. job
    if memo ~= '' and string.sub(mark, -#ending) == ending then
      letters[at] = '='
    else
      letters[at] = '?'
      answer[#answer + 1] = mark
    end
  end
end
answer[1] = table.concat(letters)
return answer
`;

/**
 * Adds memos to marks that still have the fingerprint they were found for.
 *
 * KEYS: marks. ARGV: key, fingerprint and memo, again and again.
 */
export const REMEMBER_SCRIPT = `
for first = 1, #ARGV, 3 do
  local key, fingerprint, memo = ARGV[first], ARGV[first + 1], ARGV[first + 2]
  local mark = redis.call('HGET', KEYS[1], key)
  local id, known, job = string.match(mark or '', '^([^\\n]*)\\n([^ \\n]*)[^\\n]*\\n(.*)$')
  if known == fingerprint then
    redis.call('HSET', KEYS[1], key, id .. '\\n' .. known .. ' ' .. memo .. '\\n' .. job)
  end
end
`;

/**
 * Puts marks in doubt for good: the fingerprint given takes the place of theirs, and of their memo, and their ids count as changed.
 *
 * KEYS: marks. ARGV: fingerprint, then keys.
 */
export const DOUBT_SCRIPT = `
for at = 2, #ARGV do
  local id, job = string.match(redis.call('HGET', KEYS[1], ARGV[at]) or '', '^(%d*)[^\\n]*\\n[^\\n]*\\n(.*)$')
  if id then redis.call('HSET', KEYS[1], ARGV[at], id .. '!\\n' .. ARGV[1] .. '\\n' .. job) end
end
`;
