import { IS_GONE, NOW, PARK, SPARE } from './fragments.js';
import { script } from './script.js';

/**
 * Ends a worker of its own will: parks what it still holds as handed back, due now, then removes it.
 *
 * KEYS  stream, leases, parked
 * ARGV  group, worker, tag (``: any), most messages, most hand-backs, sure (`1`: no read of this worker can be served any more)
 * Answers  `more`, `done` or `left`; how many were parked; ids that were trimmed from the stream
 *
 * Unsure, the row is left in the past: the others bury the name when no read of it can be under way. A worker whose name has been taken
 * over has nothing to sign off: all that is pending there is the other's.
 *
 * Order: see `park`; the consumer only when nothing is pending for it, then its rows. Cut off anywhere, the row is there still and runs out.
 */
export const signOff = script(
  'signOff',
  3,
  `
local S, L, P, G, W = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local tag, most, cap, sure = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
${NOW}${IS_GONE}${PARK}${SPARE}
local holder = tonumber(redis.call('ZSCORE', L, '~@' .. W) or nil)
if tag and holder and holder ~= -tag then return { 'left', 0, {} } end

local pending = redis.pcall('XPENDING', S, G, '-', '+', most, W)
if isGone(pending) then
  redis.call('ZREM', L, W, '~@' .. W)
  return { 'done', 0, {} }
end
if pending.err then return pending end

local lost = {}
for _, entry in ipairs(pending) do
  local parked = park(S, G, P, entry[1], now, spare(entry[4], cap))
  if type(parked) == 'table' then return parked end
  if not parked then lost[#lost + 1] = entry[1] end
end
local parked = #pending - #lost
if #pending == most then return { 'more', parked, lost } end
if sure then
  redis.call('XGROUP', 'DELCONSUMER', S, G, W)
  redis.call('ZREM', L, W, '~@' .. W)
  return { 'done', parked, lost }
end
redis.call('ZADD', L, now - 1, W)
return { 'left', parked, lost }
`,
);
