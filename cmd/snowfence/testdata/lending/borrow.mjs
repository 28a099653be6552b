// Prints ids, a hundred at a time, minted with a borrowed worker id: node borrow.mjs CLIENT FILE-OF-THE-OFFSET URL...
import { readFileSync, writeSync } from "node:fs"

const [client, offset, ...urls] = process.argv.slice(2)
const trueNow = Date.now
Date.now = () => trueNow() + Number(readFileSync(offset, "utf8"))
const { open, Unavailable } = await import(client)
const ids = open(urls, "default", { program: "node" })
for (;;) {
  try {
    writeSync(1, (await ids.fill(100)).join("\n") + "\n")
    await new Promise((resolve) => setTimeout(resolve, 10))
  } catch (problem) {
    if (!(problem instanceof Unavailable)) throw problem
  }
}
