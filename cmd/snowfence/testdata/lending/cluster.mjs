// Prints ids of a cluster whose primary has claimed a worker id before it forks: node cluster.mjs CLIENT URL
import cluster from "node:cluster"
import { Worker, isMainThread } from "node:worker_threads"
import { fileURLToPath } from "node:url"

const [client, url] = process.argv.slice(2)
const { open } = await import(client)
const ids = open(url, "default", { program: "cluster" })
const some = async () => (await ids.fill(1000, 60000)).join("\n")
console.log(await some())
if (cluster.isPrimary && isMainThread) {
  const ends = [0, 1, 2, 3].map(() => new Promise((resolve) => cluster.fork().on("exit", resolve)))
  ends.push(new Promise((resolve) => new Worker(fileURLToPath(import.meta.url), { argv: [client, url] }).on("exit", resolve)))
  await Promise.all(ends)
  console.log(await some())
}
await ids.close()
if (cluster.isWorker) process.disconnect()
