require "redis"

# TestClientsConverse describes what every conversation does.
url, ca, n = ARGV
tls = ca.empty? ? {} : { ssl_params: { ca_file: ca } }
ids = Redis.new(url: url, **tls)

ids.select(0)
ids.call("CLIENT", "SETNAME", "teller")
puts "name: #{ids.call("CLIENT", "GETNAME")}"

puts "pipelined: #{ids.pipelined { |pipeline| n.to_i.times { pipeline.incr("orders") } }.join(" ")}"

puts "batch: #{ids.call("ID.NEXT", "orders", "COUNT", 1000).join(" ")}"

begin
  ids.incr("nosuch")
rescue Redis::CommandError => e
  puts "unknown: #{e.message}"
end

begin
  Redis.new(url: url.sub("//:", "//:not-"), **tls).incr("orders")
rescue Redis::BaseError => e
  puts "refused: #{e.message}"
end

puts "cut:"
$stdout.flush
$stdin.gets
puts "again: #{ids.incr("orders")}"
