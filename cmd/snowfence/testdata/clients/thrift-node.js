import { once } from "node:events"
import thrift from "thrift"
import Snowflake from "./gen-nodejs/Snowflake.js"

// TestClientsConverse describes what every conversation does. Ids come as bytes, whose toString rounds them.
const [host, port, n] = process.argv.slice(2)
const digits = (id) => BigInt("0x" + id.toOctetString()).toString()
const connection = thrift.createConnection(host, Number(port), { transport: thrift.TFramedTransport, protocol: thrift.TBinaryProtocol, max_attempts: 100 })
connection.on("error", () => {}).on("close", () => {})
const ids = thrift.createClient(Snowflake, connection)

const batch = []
for (let i = 0; i < n; i++) batch.push(digits(await ids.get_id("js")))
console.log("batch:", ...batch)
console.log("rounded:", BigInt((await ids.get_id("js")).toNumber(true)).toString())
await ids.get_id("no agent").catch((e) => console.log("refused:", e.message))

console.log("cut:")
await once(process.stdin, "data")
console.log("again:", digits(await ids.get_id("js")))
connection.end()
process.stdin.destroy()
