-- TestClientsConverse describes what every conversation does. resty.sh has nginx run this for each step.
local redis = require "nginx.redis"
local token, host, port = ngx.var.arg_url:match("//:(.*)@(.*):(%d+)")

local function connect(token)
  local ids = redis:new()
  ids:set_timeouts(60000, 60000, 60000)
  assert(ids:connect(host, tonumber(port)))
  if ids:get_reused_times() == 0 then assert(ids:auth(token)) end
  return ids
end

local ids = connect(token)
if ngx.var.uri == "/again" then -- by the connection that was kept
  local id, broken = ids["id.next"](ids, "orders")
  if not id then
    ngx.say("broken: ", broken)
    ids = connect(token)
    id = assert(ids["id.next"](ids, "orders"))
  end
  ngx.say("again: ", id)
  return
end

ids:select(0)
ids:client("SETNAME", "teller")
ngx.say("name: ", ids:client("GETNAME"))
ids:init_pipeline()
for _ = 1, ngx.var.arg_n do ids["id.next"](ids, "orders") end
ngx.say("pipelined: ", table.concat(ids:commit_pipeline(), " "))
ngx.say("batch: ", table.concat(ids["id.next"](ids, "orders", "COUNT", 1000), " "))
ngx.say(string.format("rounded: %.0f", ids:incr("orders")))
ngx.say("exact: ", ids["id.next"](ids, "orders"))
ngx.say("unknown: ", select(2, ids:incr("nosuch")))
ngx.say("refused: ", select(2, pcall(connect, "not-" .. token)))
ids:set_keepalive(0, 1)
