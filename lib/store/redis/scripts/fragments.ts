/** `now`: the server's clock, milliseconds since 1970. The only clock that scripts know. */
export const NOW = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
`;

/** `isGone(reply)`: whether a command failed because the group, or its whole stream, is gone. */
export const IS_GONE = `
local function isGone(reply) return reply.err ~= nil and string.find(reply.err, 'NOGROUP', 1, true) == 1 end
`;

/**
 * `park(S, G, P, id, due, number)` hands one pending entry to \`~parked\`; `number` is set where it is given. Answers an error, or whether the
 * entry was still in the stream. The row first, then the owner: cut off in between, a row without an owner is dropped by `take`, while an
 * owner without a row would be found by the scan only.
 */
export const PARK = `
local function park(S, G, P, id, due, number)
  local added = redis.pcall('ZADD', P, due, id)
  if type(added) == 'table' and added.err then return added end
  local claimed
  if number then
    claimed = redis.pcall('XCLAIM', S, G, '~parked', 0, id, 'RETRYCOUNT', number, 'JUSTID')
  else
    claimed = redis.pcall('XCLAIM', S, G, '~parked', 0, id, 'JUSTID')
  end
  if claimed.err then return claimed end
  if #claimed > 0 then return true end
  redis.call('ZREM', P, id)
  return false
end
`;

/**
 * `parkAll(S, G, P, ids, due)`: as `park`, for ids known to be pending, by two commands in all. Answers the ids that were trimmed from the
 * stream; Redis has dropped them from the pending list.
 */
export const PARK_ALL = `
local function parkAll(S, G, P, ids, due)
  if #ids == 0 then return {} end
  local rows, owner, is, lost = { 'ZADD', P }, { 'XCLAIM', S, G, '~parked', 0 }, {}, {}
  for i, id in ipairs(ids) do
    rows[2 * i + 1], rows[2 * i + 2] = due, id
    owner[i + 5] = id
  end
  owner[#owner + 1] = 'JUSTID'
  redis.call(unpack(rows))
  for _, id in ipairs(redis.call(unpack(owner))) do is[id] = true end
  for _, id in ipairs(ids) do
    if not is[id] then lost[#lost + 1] = id end
  end
  if #lost > 0 then redis.call('ZREM', P, unpack(lost)) end
  return lost
end
`;

/** `spare(number, cap)`: the number of a hand-back: one attempt less, one hand-back more, so that it rises; from `cap` hand-backs on it stays. */
export const SPARE = `
local function spare(number, cap)
  if math.floor(number / 1000) >= cap then return number end
  return number + 999
end
`;
