import { script } from './script.js';

/**
 * Puts a dead letter back into its stream. One message a call.
 *
 * KEYS  stream, dead letters
 * ARGV  id of the dead letter
 * Answers  the new entry's id; nil where the dead letter is gone, so that two replays at once make no doubles
 *
 * The entry's own fields go back as they are. What the library added goes, but for two things: `rillkit:for`, the group that failed, so that
 * other groups pass over it; and, where the publisher gave no `messageId`, `rillkit:messageId` with the id of the first entry, so that a
 * message keeps its name over any number of replays.
 *
 * Refused as a whole when memory is out. Order: the new entry, then the removal; a failed XADD has changed nothing.
 */
export const replay = script(
  'replay',
  2,
  `
local S, D, id = KEYS[1], KEYS[2], ARGV[1]
local entry = redis.call('XRANGE', D, id, id)[1]
if not entry then return false end

local add, parts = { 'XADD', S, '*' }, entry[2]
local named, kept, origin, group = false, nil, nil, nil
for i = 1, #parts, 2 do
  local name, value = parts[i], parts[i + 1]
  if string.sub(name, 1, 8) ~= 'rillkit:' then
    add[#add + 1] = name
    add[#add + 1] = value
    if name == 'messageId' then named = true end
  elseif name == 'rillkit:messageId' then
    kept = kept or value
  elseif name == 'rillkit:entry' then
    origin = value
  elseif name == 'rillkit:group' then
    group = value
  end
end
if group then
  add[#add + 1] = 'rillkit:for'
  add[#add + 1] = group
end
if not named and (kept or origin) then
  add[#add + 1] = 'rillkit:messageId'
  add[#add + 1] = kept or origin
end
local new = redis.call(unpack(add))
redis.call('XDEL', D, id)
return new
`,
  { refusedWhenFull: true },
);
