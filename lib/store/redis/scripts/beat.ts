import { NOW } from './fragments.js';
import { script } from './script.js';

/**
 * Renews a worker's lease, and tells it what it should know.
 *
 * KEYS  leases, parked
 * ARGV  worker, tag, lease ms, scan period ms, the caller's last beat (`0`: none), take over (`1`, `0`)
 * Answers  `taken`, ms left of the holder's lease
 *      or  `beaten`, now, own row before (`live`, `over`, `none`), ms to the first due row (nil: none), scan (0, 1), paused (0, 1),
 *          workers whose lease is over
 *
 * Rows of `leases`: worker → end of its lease; `~@worker` → the tag of the incarnation that holds the name,
 * negative, so that it is in no range of times; `~beat` → the last beat of anybody;
 * `~scan` → when the next scan is due; `~pause`, where the group is paused.
 *
 * Grace: three beats make a lease. When two in a row of everybody failed, the server was away, its clock jumped, or all were: then nobody is
 * dead for having been silent, and every lease runs at least one lease more. If the clock went back, leases end by as much sooner.
 *
 * Order: grace before `~beat`, else a cut in between would lose the grace. Tag, row and `~beat` in one command: no tag without its row.
 * Touches neither the stream nor the group, so their loss kills nobody; a wrong type of `parked` must not either.
 */
export const beat = script(
  'beat',
  2,
  `
local L, P = KEYS[1], KEYS[2]
local W, tag, lease, scan, since = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
${NOW}
local function score(row) return tonumber(redis.call('ZSCORE', L, row) or nil) end
local function isWorker(row) return string.byte(row) ~= 126 end

local last, mine = score('~beat'), score(W)
if not last or last > now or now - last > lease * 2 / 3 then
  local back = last and math.max(0, last - now) or 0
  local rows = redis.call('ZRANGE', L, 0, -1, 'WITHSCORES')
  for i = 1, #rows, 2 do
    if isWorker(rows[i]) then redis.call('ZADD', L, 'XX', math.max(rows[i + 1] - back, now + lease), rows[i]) end
  end
end

local holder = score('~@' .. W)
if holder and holder ~= -tag then
  local left = (score(W) or now) - now
  if left > 0 or ARGV[6] ~= '1' then
    redis.call('ZADD', L, now, '~beat')
    return { 'taken', left }
  end
end
redis.call('ZADD', L, now, '~beat', -tag, '~@' .. W, now + lease, W)
redis.pcall('ZADD', P, 'NX', '+inf', '~')

local before = 'none'
if mine then before = mine > now and 'live' or 'over' end

local scanAt, elected = score('~scan'), 0
if not scanAt or now >= scanAt or scanAt > now + scan then
  redis.call('ZADD', L, now + scan, '~scan')
  elected = 1
end

-- All that ended since the caller last asked, so that a mass death is seen at once; and the oldest, which wait to be buried.
local over, seen = {}, { [W] = true }
local function add(rows)
  for _, row in ipairs(rows) do
    if isWorker(row) and not seen[row] then
      seen[row] = true
      over[#over + 1] = row
    end
  end
end
local ended = string.format('(%.0f', now)
add(redis.call('ZRANGEBYSCORE', L, since, ended, 'LIMIT', 0, 1000))
add(redis.call('ZRANGEBYSCORE', L, 0, ended, 'LIMIT', 0, 15))

local due = false
local first = redis.pcall('ZRANGE', P, 0, 0, 'WITHSCORES')
if not first.err and first[2] and first[2] ~= 'inf' then due = math.ceil(first[2] - now) end

return { 'beaten', now, before, due, elected, score('~pause') and 1 or 0, over }
`,
);
