import { IS_GONE, NOW, PARK_ALL } from './fragments.js';
import { script } from './script.js';

/**
 * Parks a dead worker's messages as due now, and buries it when its grave time is over.
 *
 * KEYS  stream, leases, parked
 * ARGV  group, dead worker, most messages, grave ms
 * Answers  `alive`, `more`, `parked` or `buried`; how many were parked; ids that were trimmed from the stream
 *
 * The lease is asked again: the worker may have beaten since. The consumer is kept for the grave time because Redis still serves the
 * blocked read of a consumer that was removed, which would bring the name back with a message and no lease.
 *
 * Order: rows, then owners (see `parkAll`); the consumer only when nothing is pending for it, then its rows. Cut off anywhere, the row is
 * still there, so that the next beat names the worker again.
 */
export const recover = script(
  'recover',
  3,
  `
local S, L, P, G, W, most, grave = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
${NOW}${IS_GONE}${PARK_ALL}
local ended = tonumber(redis.call('ZSCORE', L, W) or nil)
if not ended or ended > now then return { 'alive', 0, {} } end

local pending = redis.pcall('XPENDING', S, G, '-', '+', most, W)
if isGone(pending) then
  redis.call('ZREM', L, W, '~@' .. W)
  return { 'buried', 0, {} }
end
if pending.err then return pending end

local ids = {}
for i, entry in ipairs(pending) do ids[i] = entry[1] end
local lost = parkAll(S, G, P, ids, now)
local parked = #ids - #lost
if #ids == most then return { 'more', parked, lost } end
if now - ended <= grave then return { 'parked', parked, lost } end
redis.call('XGROUP', 'DELCONSUMER', S, G, W)
redis.call('ZREM', L, W, '~@' .. W)
return { 'buried', parked, lost }
`,
);
