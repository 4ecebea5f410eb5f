import { IS_GONE, NOW } from './fragments.js';
import { script } from './script.js';

/**
 * Gives a message up: writes its dead letter, then acks it. One message a call.
 *
 * KEYS  stream, dead letters
 * ARGV  group, worker, id, number, most dead letters (`0`: any), `~` or `=`, most age ms (`0`: any),
 *       how many of the following are about why, those (name, value), then the caller's copy of the entry's fields (name, value), if given
 * Answers  `ok`, `fenced`, `lost`; `copy`: the entry was trimmed, call again with the caller's copy; or the text of an error
 *
 * Refused as a whole when memory is out: the message stays pending then.
 *
 * Order: the dead letter first, then the ack; cut off in between, the message is pending and is given up again: two dead letters rather
 * than none. Trimming by age comes last, since nothing depends on it.
 */
export const bury = script(
  'bury',
  2,
  `
local S, D, G, W, id, number = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local maxLen, how, maxAge, whys = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
${NOW}${IS_GONE}
local pending = redis.pcall('XPENDING', S, G, id, id, 1, W)
if isGone(pending) then return 'fenced' end
if pending.err then return pending.err end
if #pending == 0 or pending[1][4] ~= number then return 'fenced' end

local entry = redis.call('XRANGE', S, id, id)[1]
local copyFrom = 9 + whys
if not entry and #ARGV < copyFrom then return 'copy' end

local add = { 'XADD', D }
if maxLen > 0 then add[3], add[4], add[5] = 'MAXLEN', how, maxLen end
add[#add + 1] = '*'
if entry then
  for _, part in ipairs(entry[2]) do add[#add + 1] = part end
else
  for i = copyFrom, #ARGV do add[#add + 1] = ARGV[i] end
end
for i = 9, 8 + whys do add[#add + 1] = ARGV[i] end
add[#add + 1] = 'rillkit:at'
add[#add + 1] = string.format('%.0f', now)

local added = redis.pcall(unpack(add))
if type(added) == 'table' and added.err then return added.err end
redis.call('XACK', S, G, id)
if maxAge > 0 then redis.pcall('XTRIM', D, 'MINID', '=', string.format('%.0f', now - maxAge)) end
return 'ok'
`,
  { refusedWhenFull: true },
);
