import { NOW } from './fragments.js';
import { script } from './script.js';

/**
 * Tells where one entry is, as one group sees it. Changes nothing.
 *
 * KEYS  stream, parked
 * ARGV  group, entry id
 * Answers  ['pending', consumer, number, due] (due: ms since 1970; now, where a parked entry has no row) |
 *          ['here', last id that the group was given; nil: the group does not exist] | ['gone']
 */
export const locate = script(
  'locate',
  2,
  `
local S, P, G, id = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
${NOW}
local last = false
if redis.call('EXISTS', S) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', S)) do
    local group = {}
    for i = 1, #info, 2 do group[info[i]] = info[i + 1] end
    if group.name == G then last = group['last-delivered-id'] end
  end
end
if last then
  local pending = redis.call('XPENDING', S, G, id, id, 1)[1]
  if pending then
    return { 'pending', pending[2], pending[4], redis.call('ZSCORE', P, id) or string.format('%.0f', now) }
  end
end
if #redis.call('XRANGE', S, id, id) == 0 then return { 'gone' } end
return { 'here', last }
`,
);
