// Prints how many ids a second this process makes: node rates.mjs CLIENT WAY SECONDS HTTP-URL RESP-PORT
import net from "node:net"

const [client, way, seconds, url, port] = process.argv.slice(2)
const { open } = await import(client)

// asking returns a call that sends a command and waits for so many lines.
const asking = (command, lines) => {
  const link = net.connect(Number(port), "127.0.0.1").setNoDelay()
  let missing = 0
  let done = () => {}
  link.on("data", (data) => {
    for (const byte of data) missing -= byte === 10
    if (missing === 0) done()
  })
  link.unref()
  return () => new Promise((resolve) => {
    [missing, done] = [lines, resolve]
    link.write(command)
  })
}
const ids = way === "lent" ? open(url, "default", { program: "bench" }) : null
const [call, each] = {
  lent: [() => ids.next(), 1],
  incr: [asking("*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n", 1), 1],
  hundred: [asking("*4\r\n$7\r\nID.NEXT\r\n$7\r\ndefault\r\n$5\r\nCOUNT\r\n$3\r\n100\r\n", 201), 100],
}[way]
const alive = setInterval(() => {}, 1000)
await call()
let n = 0
const begun = performance.now()
while (performance.now() - begun < seconds * 1000) {
  for (let i = 0; i < 100; i++) await call()
  n += 100 * each
}
console.log((n * 1000) / (performance.now() - begun))
await ids?.close()
clearInterval(alive)
