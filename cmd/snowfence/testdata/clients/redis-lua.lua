local redis = require "redis"

-- TestClientsConverse describes what every conversation does.
local token, host, port = arg[1]:match("//:(.*)@(.*):(%d+)")
redis.define_command("next_id", { command = "ID.NEXT" })
redis.define_command("client", { command = "CLIENT" })

local function connect(token)
  local ids = redis.connect(host, port)
  ids:auth(token)
  ids:select(0)
  return ids
end

local ids = connect(token)
ids:client("SETNAME", "teller")
print("name: " .. ids:client("GETNAME"))

local texts = ids:pipeline(function(pipeline)
  for _ = 1, arg[3] do pipeline:next_id("orders") end
end)
print("pipelined: " .. table.concat(texts, " "))

print("batch: " .. table.concat(ids:next_id("orders", "COUNT", 1000), " "))
print(string.format("rounded: %.0f", ids:incr("orders")))
print("exact: " .. ids:next_id("orders"))

print("unknown: " .. select(2, pcall(ids.incr, ids, "nosuch")))
print("refused: " .. select(2, pcall(connect, "not-" .. token)))

print("cut:")
io.stdout:flush()
io.read()
local served, broken = pcall(ids.incr, ids, "orders")
if not served then print("broken: " .. broken) end
print("again: " .. connect(token):next_id("orders"))
