import { readFileSync } from "node:fs"
import { once } from "node:events"
import { createClient, RESP_TYPES } from "redis"

// TestClientsConverse describes what every conversation does.
const [url, ca, n] = process.argv.slice(2)
const socket = ca ? { tls: true, ca: readFileSync(ca) } : {}
const patient = { timeout: undefined } // a command that is not sent within 5 s fails by default
const ids = createClient({ url, name: "teller", socket, commandOptions: patient })
ids.on("error", () => {}) // of the connection that is cut
await ids.connect()

await ids.sendCommand(["SELECT", "0"])
console.log("name:", await ids.clientGetName())

// Commands of one turn are sent together.
const turn = Array.from({ length: Number(n) }, () => ids.sendCommand(["ID.NEXT", "orders"]))
console.log("pipelined:", (await Promise.all(turn)).join(" "))

console.log("batch:", ...(await ids.sendCommand(["ID.NEXT", "orders", "COUNT", "1000"])))

console.log("rounded:", BigInt(await ids.incr("orders")).toString())
console.log("exact:", await ids.withTypeMapping({ [RESP_TYPES.NUMBER]: String }).incr("orders"))

await ids.incr("nosuch").catch((e) => console.log("unknown:", e.message))

const wrong = createClient({ url: url.replace("//:", "//:not-"), socket: { ...socket, reconnectStrategy: false } })
wrong.on("error", () => {})
await wrong.connect().catch((e) => console.log("refused:", e.message))

console.log("cut:")
await once(process.stdin, "data")
console.log("again:", await ids.sendCommand(["ID.NEXT", "orders"]))
ids.destroy()
process.stdin.destroy()
