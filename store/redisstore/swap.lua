-- Swaps one register and keeps the index of all keys, in one step.
--
-- KEYS  the register, the index
-- ARGV  the key's name in the index, the version that the register must have
--       ("" for none), the new version, the value
--
-- Everything that can fail for what is stored comes before the first write:
-- Redis does not undo half a script.
-- Of the register no more is read than the version, however long it is. To GETRANGE a key
-- that is empty and one that is not there are alike.
local stored = redis.call('GETRANGE', KEYS[1], 0, 34)
if stored == '' and redis.call('EXISTS', KEYS[1]) == 0 then
  stored = false
end
local indexed = redis.call('ZSCORE', KEYS[2], ARGV[1])

local version = ''
if stored then
  version = string.match(stored, '^1 (' .. string.rep('[0-9a-f]', 32) .. ') ')
elseif indexed then
  version = nil -- registers are never deleted, so something took this one
end
if not version then
  return 'damaged'
end
if version ~= ARGV[2] then
  return 'conflict'
end

redis.call('SET', KEYS[1], '1 ' .. ARGV[3] .. ' ' .. ARGV[4])
if not indexed then
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
end
return 'swapped'
