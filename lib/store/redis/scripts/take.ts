import { NOW } from './fragments.js';
import { script } from './script.js';

/**
 * Hands parked messages that are due to a worker.
 *
 * KEYS  stream, parked
 * ARGV  group, worker, most messages
 * Answers  [id, number, fields] of each, ids that were trimmed from the stream, ms to the next due row (0: due already; nil: none)
 *
 * A row is only a hint: what `~parked` does not own (any more) is left alone and its row dropped.
 *
 * Order: the owner first, then the rows; cut off in between, rows without an owner are left, which the next take drops, and the messages
 * are this worker's, which its audit finds.
 */
export const take = script(
  'take',
  2,
  `
local S, P, G, W, most = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
${NOW}
local ids = redis.call('ZRANGEBYSCORE', P, '-inf', now, 'LIMIT', 0, most)
local claim, numbers, taken, lost = { 'XCLAIM', S, G, W, 0 }, {}, {}, {}
for _, id in ipairs(ids) do
  local pending = redis.call('XPENDING', S, G, id, id, 1, '~parked')
  if #pending > 0 then
    claim[#claim + 1] = id
    numbers[id] = pending[1][4] + 1
  end
end
if #claim > 5 then
  for _, entry in ipairs(redis.call(unpack(claim))) do
    taken[#taken + 1] = { entry[1], numbers[entry[1]], entry[2] }
    numbers[entry[1]] = nil
  end
  for i = 6, #claim do
    if numbers[claim[i]] then lost[#lost + 1] = claim[i] end
  end
end
if #ids > 0 then redis.call('ZREM', P, unpack(ids)) end

local next = redis.call('ZRANGE', P, 0, 0, 'WITHSCORES')
local due = false
if next[2] and next[2] ~= 'inf' then due = math.max(0, math.ceil(next[2] - now)) end
return { taken, lost, due }
`,
);
