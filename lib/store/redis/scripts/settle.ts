import { IS_GONE, NOW, PARK, SPARE } from './fragments.js';
import { script } from './script.js';

/**
 * Ends deliveries, each for itself.
 *
 * KEYS  stream, parked
 * ARGV  group, worker, how many first-delivery acks follow, their ids in order, then for each other one: id, number, op, delay ms, x
 *       op `ack`; `retry`; `release` (x: most hand-backs); `refused` (x: the attempt that the new number shows)
 * Answers  0 where all went well; else one answer each: `ok`, `fenced`, `lost`, or the text of an error
 *
 * Owner and number are the fence, checked in the pending list. First-delivery acks are nearly all there is, so they are checked by one
 * ranged XPENDING and acked by one XACK. Others of this worker may lie between them, running: the range is read with some to spare, and
 * what it does not show is asked for by itself.
 *
 * Order: see `park`. Each item is a step of its own; cut off, the rest is as it was.
 */
export const settle = script(
  'settle',
  2,
  `
local S, P, G, W, firsts = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
${NOW}${IS_GONE}${PARK}${SPARE}
local answers, fine = {}, true
local function answer(i, is)
  answers[i] = is
  if is ~= 'ok' then fine = false end
end

-- nil: this delivery is still this worker's.
local function fence(id, number)
  local pending = redis.pcall('XPENDING', S, G, id, id, 1, W)
  if isGone(pending) then return 'fenced' end
  if pending.err then return pending.err end
  if #pending == 0 or pending[1][4] ~= number then return 'fenced' end
end

local function ack(id)
  local acked = redis.pcall('XACK', S, G, id)
  if type(acked) == 'table' then return acked.err end
  return 'ok'
end

if firsts > 0 then
  local most = firsts * 2 + 16
  local pending = redis.pcall('XPENDING', S, G, ARGV[4], ARGV[firsts + 3], most, W)
  local good, j, rest = { 'XACK', S, G }, 1, nil
  for i = 1, firsts do
    local id, number = ARGV[i + 3], nil
    -- Both lists are in order, so one walk finds all; from the first that is missing on, by a table.
    if not rest and not pending.err then
      local k = j
      while pending[k] and pending[k][1] ~= id do k = k + 1 end
      if pending[k] then
        number, j = pending[k][4], k + 1
      else
        rest = {}
        for at = j, #pending do rest[pending[at][1]] = pending[at][4] end
      end
    elseif rest then
      number, rest[id] = rest[id], nil
    end
    if number == 1 then
      good[#good + 1] = id
      answers[i] = 'ok'
    end
  end
  if #good > 3 then redis.call(unpack(good)) end
  if #good < firsts + 3 then
    local isAll = not pending.err and #pending < most
    for i = 1, firsts do
      local id = ARGV[i + 3]
      if not answers[i] then answer(i, isAll and 'fenced' or fence(id, 1) or ack(id)) end
    end
  end
end

local i = firsts
for at = firsts + 4, #ARGV, 5 do
  local id, number, op, delay, x = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local is = fence(id, number)
  if not is then
    if op == 'ack' then
      is = ack(id)
    else
      local newNumber
      if op == 'release' then newNumber = spare(number, x) end
      if op == 'refused' then newNumber = 1000 * (math.floor(number / 1000) + 1) + x end
      local parked = park(S, G, P, id, now + delay, newNumber)
      is = parked == true and 'ok' or parked == false and 'lost' or parked.err
    end
  end
  i = i + 1
  answer(i, is)
end

if fine then return 0 end
return answers
`,
);
