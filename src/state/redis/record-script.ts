/** How an outcome is stored: one letter at the operation's place in its shard. */
export const OUTCOME_LETTERS = {
  applied: 'a',
  deleted: 'd',
  rejected: 'r',
  unsent: 'u',
  left: 'l',
} as const;
/** An outcome kind as Redis keeps it. */
export type OutcomeLetter = (typeof OUTCOME_LETTERS)[keyof typeof OUTCOME_LETTERS];

/**
 * `Runs.record` in one step: nobody sees a mark without its outcome, and nothing is written without the lock that
 * the fence was given for. An outcome replaces an earlier one of its operation, sums included. A call that Redis
 * gets twice, since the connection broke before its answer, counts its requests once: each process numbers its calls.
 *
 * KEYS: marks, bodies, keys of jobs, outcomes, tally, refusals, unsent, changed ids, doubts, and the lock if there is a
 * fence. ARGV: token, job, shard, requests, process, number of the call; then for each outcome its letter, operation, rows,
 * key, mark, payload (body, refusal or reason), changed id, and what is left of the doubt: `0` nothing, `1` what there was
 * before, `2` it may have arrived, `3` all of it, `4` the store holds nothing.
 */
export const RECORD_SCRIPT = `
local marks, bodies, jobKeys, outcomes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tally, refusals, unsent, changedIds = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local doubts, lock = KEYS[9], KEYS[10]
local token, job, shard = ARGV[1], ARGV[2], ARGV[3]

if lock and redis.call('HGET', lock, 'token') ~= token then
  return 'lost'
end

local sums = {}
local function add(field, number)
  sums[field] = (sums[field] or 0) + number
end
local function count(letter, rows, sign)
  if letter == 'a' then
    add('applied', sign)
    add('appliedRows', sign * rows)
  elseif letter == 'r' then
    add('rejected', sign)
    add('rejectedRows', sign * rows)
  elseif letter == 'd' then
    add('deleted', sign)
  elseif letter == 'l' then
    add('left', sign)
  end
end
local function ownerOf(key)
  local mark = redis.call('HGET', marks, key)
  return mark and string.match(mark, '^[^\\n]*\\n[^\\n]*\\n(.*)$')
end

local function forget(key)
  local owner = ownerOf(key)
  if owner then redis.call('ZREM', jobKeys, owner .. '\\0' .. key) end
  redis.call('HDEL', marks, key)
  redis.call('HDEL', bodies, key)
end

local letters = redis.call('HGET', outcomes, shard) or ''
for first = 7, #ARGV, 8 do
  local letter, operation, rows = ARGV[first], tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  local key, mark, payload, changedId = ARGV[first + 3], ARGV[first + 4], ARGV[first + 5], ARGV[first + 6]
  local doubt = ARGV[first + 7]
  local score = tonumber(shard) * 65536 + operation
  local unsentField = shard .. ':' .. operation

  if #letters < operation then letters = letters .. string.rep('.', operation - #letters) end
  local before = string.sub(letters, operation + 1, operation + 1)
  letters = string.sub(letters, 1, operation) .. letter .. string.sub(letters, operation + 2)
  count(before, rows, -1)
  count(letter, rows, 1)
  if before == 'r' then redis.call('ZREMRANGEBYSCORE', refusals, score, score) end
  if before == 'u' then redis.call('HDEL', unsent, unsentField) end

  if letter == 'a' then
    local owner = ownerOf(key)
    if owner and owner ~= job then redis.call('ZREM', jobKeys, owner .. '\\0' .. key) end
    if owner ~= job then redis.call('ZADD', jobKeys, 0, job .. '\\0' .. key) end
    redis.call('HSET', marks, key, mark)
    redis.call('HSET', bodies, key, payload)
    if changedId ~= '' then
      redis.call('ZREMRANGEBYSCORE', changedIds, score, score)
      redis.call('ZADD', changedIds, score, changedId)
    end
  elseif letter == 'd' then
    forget(key)
  elseif letter == 'r' then
    redis.call('ZADD', refusals, score, payload)
    if doubt == '4' then forget(key) end
  elseif letter == 'u' then
    redis.call('HSET', unsent, unsentField, payload)
  end
  if doubt == '0' or doubt == '4' then
    redis.call('HDEL', doubts, key)
  elseif doubt ~= '3' then
    local prior, rest = string.match(redis.call('HGET', doubts, key) or '', '^(%d)%d(.*)$')
    if prior == '0' and doubt == '1' then
      redis.call('HDEL', doubts, key)
    elseif prior then
      redis.call('HSET', doubts, key, prior .. '0' .. rest)
    end
  end
end
if letters ~= '' then redis.call('HSET', outcomes, shard, letters) end

local requests, process, call = tonumber(ARGV[4]), 'process:' .. ARGV[5], tonumber(ARGV[6])
if requests > 0 and call > tonumber(redis.call('HGET', tally, process) or 0) then
  add('requests', requests)
  redis.call('HSET', tally, process, call)
end
for field, number in pairs(sums) do
  if number ~= 0 then redis.call('HINCRBY', tally, field, number) end
end
return 'written'
`;
