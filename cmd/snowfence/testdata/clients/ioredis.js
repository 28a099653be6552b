import { readFileSync } from "node:fs"
import { once } from "node:events"
import Redis from "ioredis"

// TestClientsConverse describes what every conversation does.
const [url, ca, n] = process.argv.slice(2)
const tls = ca ? { tls: { ca: readFileSync(ca) } } : {}
const ids = new Redis(url, { connectionName: "teller", ...tls })
ids.on("error", () => {}) // of the connection that is cut

await ids.select(0)
console.log("name:", await ids.client("GETNAME"))

const pipeline = ids.pipeline()
for (let i = 0; i < Number(n); i++) pipeline.call("ID.NEXT", "orders")
console.log("pipelined:", (await pipeline.exec()).map(([, id]) => id).join(" "))

console.log("batch:", ...(await ids.call("ID.NEXT", "orders", "COUNT", 1000)))

console.log("rounded:", BigInt(await ids.incr("orders")).toString())
const exact = new Redis(url, { stringNumbers: true, ...tls })
console.log("exact:", await exact.incr("orders"))
exact.disconnect()

await ids.incr("nosuch").catch((e) => console.log("unknown:", e.message))

const wrong = new Redis(url.replace("//:", "//:not-"), { retryStrategy: null, ...tls })
const [refusal] = await once(wrong, "error").catch((e) => [e])
console.log("refused:", refusal.message)
wrong.disconnect()

console.log("cut:")
await once(process.stdin, "data")
console.log("again:", await ids.call("ID.NEXT", "orders"))
ids.disconnect()
process.stdin.destroy()
