import { NOW, PARK_ALL } from './fragments.js';
import { script } from './script.js';

/**
 * Looks for what no lease watches over. Called by the worker that a beat elected.
 *
 * KEYS  stream, leases, parked
 * ARGV  group, least idle ms, most messages
 * Answers  how many messages of consumers without a lease were parked, how many missing rows were added, ids that were trimmed
 *
 * Consumers without a lease: another library, someone at `redis-cli`, a crash before the first beat. They say nothing of being alive, so
 * only how long their messages lie idle tells. Where `~parked` owns more than there are rows, the missing rows are added as due now.
 *
 * Order: see `parkAll`; each row that is added mends one message.
 */
export const scan = script(
  'scan',
  3,
  `
local S, L, P, G, idle, most = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3])
${NOW}${PARK_ALL}
local foreign, repaired, lost, owned = 0, 0, {}, 0
-- Asked for before the first message, or the first worker, has made the stream.
if redis.call('EXISTS', S) == 0 then return { foreign, repaired, lost } end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', S, G)) do
  local name, pending
  for i = 1, #consumer, 2 do
    if consumer[i] == 'name' then name = consumer[i + 1] end
    if consumer[i] == 'pending' then pending = consumer[i + 1] end
  end
  local room = most - foreign - #lost
  if name == '~parked' then
    owned = pending
  elseif pending > 0 and room > 0 and not redis.call('ZSCORE', L, name) then
    local ids = {}
    for i, entry in ipairs(redis.call('XPENDING', S, G, 'IDLE', idle, '-', '+', room, name)) do ids[i] = entry[1] end
    local gone = parkAll(S, G, P, ids, now)
    for _, id in ipairs(gone) do lost[#lost + 1] = id end
    foreign = foreign + #ids - #gone
  end
end

local rows = redis.call('ZCARD', P) - (redis.call('ZSCORE', P, '~') and 1 or 0)
local missing, from = math.min(owned + foreign - rows, most), '-'
while repaired < missing do
  local page = redis.call('XPENDING', S, G, from, '+', 200, '~parked')
  if #page == 0 then break end
  for _, entry in ipairs(page) do repaired = repaired + redis.call('ZADD', P, 'NX', now, entry[1]) end
  from = '(' .. page[#page][1]
end
return { foreign, repaired, lost }
`,
);
