local now = tonumber(redis.call('TIME')[1])
if now >= tonumber(ARGV[3]) then
  return {-1, 0, now}
end
local left = tonumber(ARGV[2]) - tonumber(redis.call('GET', KEYS[1]) or '0')
local count = math.min(tonumber(ARGV[1]), left)
if count <= 0 then
  return {0, 0, now}
end
local last = redis.call('INCRBY', KEYS[1], string.format('%.0f', count))
return {count, last, now}
