/**
 * Unique ids, minted in this process with a worker id that is borrowed from Snowfence daemons.
 *
 * No two ids are ever equal, whatever fails: daemons, the network, the store, this machine's clock. Ids rise as long as one
 * worker id lasts. docs/lending.md of Snowfence has the rules, and the limit: a running copy of a virtual machine.
 *
 *     import { open } from "./snowfence.mjs"
 *     const ids = open(["http://10.0.0.1:7600", "http://10.0.0.2:7600"], "orders", { token, program: "billing" })
 *     await ids.next()      // a BigInt; a text if the layout is wide
 *     await ids.nextText()  // a text
 *     await ids.fill(100)   // an array
 *     await ids.close()     // gives the worker id back; a program that ends by itself does it too
 * The first id claims a worker id. Processes of a cluster and worker_threads claim one each: call open in each of them.
 * Close the ids before an image of the process is taken. No lease is ever written to a disk. Nothing here keeps the program
 * alive. Copy this file into your program as it is: Node 18 or later, without dependencies.
 */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import http from "node:http"
import https from "node:https"
import { hostname } from "node:os"
import { performance } from "node:perf_hooks"

const GONE = ["tag:snowfence.example,2026:problem/lease-gone", "tag:snowfence.example,2026:problem/lease-moved"]

/** There are no more ids. */
export class SnowfenceError extends Error {}
/** There is no id now. It goes on by itself: ask again. */
export class Unavailable extends SnowfenceError {}
/** The lease is over for good. Another one is claimed. */
export class Gone extends SnowfenceError {}

/** A lease as its borrower knows it: which slots may be stamped, and when to ask again. It does no I/O.
 *  Times called sent, came and now are milliseconds of the monotonic clock. */
export class Held {
  /** @param {object} answer of a claim @param {number} sent @param {number} came */
  constructor(answer, sent, came) {
    Object.assign(this, { worker: whole(answer.worker), floor: whole(answer.floor), base: BigInt(answer.base) })
    Object.assign(this, { unit: whole(answer.unit_us), epoch: whole(answer.epoch_ms) * 1000, form: answer.form })
    Object.assign(this, { timeShift: BigInt(answer.time_shift), sequenceShift: BigInt(answer.sequence_shift) })
    Object.assign(this, { randomShift: BigInt(answer.random_shift ?? 0), randomBits: answer.random_bits ?? 0 })
    this.sequences = Math.min(2 ** whole(answer.sequence_bits), Number.MAX_SAFE_INTEGER)
    this.maxBehind = whole(answer.max_behind_ms) * 1000
    this.random = (bits) => randomBytes(8).readBigUInt64BE() >> BigInt(64 - bits)
    Object.assign(this, { tick: this.floor, sequence: -1 }) // the last slot that was stamped
    Object.assign(this, { highest: 0, left: false }) // the highest wall clock; left means that nothing is stamped any more
    Object.assign(this, { usable: 0, pending: 0, loss: 0, sent, mark: "" }) // the mark is empty between extensions
    this.#take(answer, came)
    if ((this.base | (BigInt(this.floor) << this.timeShift)) !== BigInt(answer.check))
      throw new SnowfenceError("the daemon builds ids in another way than this file: copy the current snowfence.mjs")
  }

  #take(answer, came) {
    const [until, window, after] = [answer.until, answer.window_ms, answer.extend_after_ms].map(whole)
    const loss = Math.max(this.loss, whole(answer.loss_ms))
    // The last bound stood at the first sending of the extension, or later. If it was as old as the store's loss by then, it
    // can't be lost any more.
    if (this.pending && this.sent >= this.came + loss) this.usable = Math.max(this.usable, this.pending)
    Object.assign(this, { lease: answer.lease, window, after, loss, came })
    if (loss) this.pending = until
    else [this.usable, this.pending] = [until, 0]
  }

  /** Begins an extension. Later tries of it change nothing. */
  extend(now, mark) {
    if (!this.mark) [this.sent, this.mark] = [now, mark]
  }

  /** Takes the first answer with the extension's mark, and returns false for every other one. */
  answered(answer, came) {
    if (!this.mark || answer.mark !== this.mark) return false
    if (answer.worker !== this.worker || whole(answer.floor) !== this.floor)
      throw new Gone("the answer is of another worker id or floor")
    this.#take(answer, came)
    this.mark = ""
    return true
  }

  /** When the next extension is sent. */
  due() { return Math.max(this.usable ? this.sent + this.after : 0, this.pending ? this.came + this.loss : 0) }

  /** The lowest tick that was never stamped. */
  nextTick() { return this.sequence < 0 ? this.tick : this.tick + 1 }

  /** Returns up to so many ids of one tick for the wall clock in microseconds; none if there is none now. */
  stamp(wall, most) {
    this.highest = Math.max(this.highest, wall)
    if (wall < this.highest - this.maxBehind) this.left = true // another worker id is better than a long wait
    let [tick, sequence] = [Math.floor((wall - this.epoch) / this.unit), 0]
    if (tick <= this.tick) { // a clock that is behind goes on at the last tick
      [tick, sequence] = [this.tick, this.sequence + 1]
      if (sequence >= this.sequences) [tick, sequence] = [tick + 1, 0]
    }
    if (this.left || tick >= this.usable || tick * this.unit + this.epoch > wall + this.maxBehind) return []
    const end = Math.min(sequence + most, this.sequences)
    const first = this.base | (BigInt(tick) << this.timeShift)
    this.tick = tick
    this.sequence = end - 1
    const ids = []
    while (sequence < end) ids.push(this.#id(first | (BigInt(sequence++) << this.sequenceShift)))
    return ids
  }

  #id(number) {
    if (this.form === "decimal") return number
    if (this.randomBits) number |= this.random(this.randomBits) << this.randomShift
    if (this.form !== "uuid") return number.toString(16).padStart(Number(this.form.slice(3)), "0")
    return number.toString(16).padStart(32, "0").replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
  }
}

/** Reads a number that JavaScript holds exactly. */
function whole(text) {
  const number = Number(text)
  if (text === "" || text === null || !Number.isSafeInteger(number)) throw new Error(`the answer has ${text} for a number`)
  return number
}

/** Returns the ids of a generator. The URLs are of daemons on one store: any of them serves.
 *  @param {string | string[]} urls @param {string} generator @param {{token?: string, program?: string}} [options] */
export const open = (urls, generator, options = {}) => new Ids([urls].flat(), generator, options)

/** The ids of a generator. One loop does all exchanges, one at a time. */
class Ids {
  #urls; #path; #headers; #who; #loop
  #held = null
  #closed = "" // why
  #at = 0 // the daemon that is asked
  #problem = "the first claim has no answer yet"
  #wake = () => {}
  #atExit = () => this.close()

  constructor(urls, generator, { token, program = "" }) {
    this.#urls = urls
    this.#path = `/v1/generators/${encodeURIComponent(generator)}/leases`
    this.#headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) }
    this.#who = { host: hostname(), pid: process.pid, program }
    process.on("beforeExit", this.#atExit)
  }

  /** Returns an id. Throws Unavailable after so many milliseconds without one. @returns {Promise<bigint | string>} */
  async next(wait = 1000) { return (await this.fill(1, wait))[0] }

  /** Returns an id as a text, as next does. @returns {Promise<string>} */
  async nextText(wait = 1000) { return String(await this.next(wait)) }

  /** Returns n ids that rise, as next does. @returns {Promise<(bigint | string)[]>} */
  async fill(n, wait = 1000) {
    const ids = []
    for (const end = performance.now() + wait; ; await new Promise((resolve) => setTimeout(resolve, 5))) {
      if (this.#closed) throw new SnowfenceError(this.#closed)
      for (let more = [0]; more.length && ids.length < n; ids.push(...more))
        more = this.#held?.stamp(Date.now() * 1000, Math.min(n - ids.length, 4096)) ?? []
      if (ids.length >= n) return ids
      if (performance.now() >= end) {
        const why = this.#problem || "no bound is confirmed yet, or this machine's clock is behind the last id"
        throw new Unavailable(`no id within ${wait} ms, ask again: ${why}`)
      }
      this.#loop ??= this.#run()
      if (this.#ends()) this.#wake()
    }
  }

  /** Makes no more ids, and gives the worker id back. It waits for that for up to so many milliseconds. */
  async close(wait = 5000) {
    this.#closed ||= "the ids were closed: open them again" // from here on nothing is stamped
    this.#wake()
    process.off("beforeExit", this.#atExit)
    let timer
    await Promise.race([this.#loop, new Promise((resolve) => { timer = setTimeout(resolve, wait) })])
    clearTimeout(timer)
  }

  #ends() { return Boolean(this.#closed || this.#held?.left) }

  async #run() {
    for (let pause = 0; ; ) {
      const held = this.#held
      const rest = held && !held.mark ? held.due() - performance.now() : pause * (0.5 + Math.random() / 2)
      if (rest > 0 && !this.#ends())
        await new Promise((resolve) => { this.#wake = resolve; setTimeout(resolve, Math.min(rest, 2 ** 31 - 1)).unref() })
      const ends = this.#ends()
      if (ends && !held) return
      const done = await (ends ? this.#release(held) : held ? this.#extend(held) : this.#claim())
      // A claim whose answer was lost costs a worker id for a window, so claims are rarer.
      pause = done || held !== this.#held ? 0 : held ? Math.min(2 * pause + 250, 5000) : Math.min(2 * pause + 1000, 30000)
    }
  }

  #claim() {
    const sent = performance.now()
    return this.#askAll("POST", "", {}, (answer, came) => (this.#held = new Held(answer, sent, came)))
  }

  async #extend(held) {
    held.extend(performance.now(), randomBytes(8).toString("hex"))
    const { worker, lease, mark } = held
    const done = await this.#askAll("PUT", `/${worker}`, { lease, mark }, (answer, came) => held.answered(answer, came))
    if (!done && performance.now() > held.came + 2 * held.window) held.left = true // its bound has passed long since
    return done
  }

  async #release(held) {
    const mark = randomBytes(8).toString("hex")
    const body = { lease: held.lease, mark, next: String(held.nextTick()), open: held.mark }
    await this.#askAll("POST", `/${held.worker}/release`, body, () => true, true)
    this.#held = null // if no daemon has answered, the worker id rests for a window
    return true
  }

  /** Asks one daemon after the other until an answer is accepted. */
  async #askAll(method, path, body, accept, last = false) {
    for (let i = 0; i < this.#urls.length && (last || !this.#ends()); i++) {
      const url = this.#urls[this.#at % this.#urls.length]
      try {
        const answer = await this.#ask(url, method, path, body)
        if (!accept(answer, performance.now())) throw new Error("the answer is to another request")
        this.#problem = ""
        return true
      } catch (problem) {
        this.#problem = `${url}: ${problem.message}`
        if (problem instanceof SnowfenceError) {
          this.#held = null
          if (!(problem instanceof Gone)) this.#closed = this.#problem
          return false
        }
        this.#at++ // whatever it was, it ends no lease, and another daemon may do better
      }
    }
    return false
  }

  async #ask(url, method, path, body) {
    const patience = this.#held ? Math.min(Math.max(this.#held.window / 6, 1000), 10000) : 10000
    const request = (url.startsWith("https:") ? https : http).request(url.replace(/\/+$/, "") + this.#path + path, {
      method, headers: this.#headers, agent: false, signal: AbortSignal.timeout(patience), // each has its own connection
    })
    request.on("error", () => {}).on("socket", (socket) => socket.unref()) // once and the loop below throw its errors
    request.end(JSON.stringify({ ...this.#who, ...body, now: Date.now() }))
    const [response] = await once(request, "response")
    let text = ""
    for await (const part of response.setEncoding("utf8")) text += part
    const [status, type] = [response.statusCode, response.headers["content-type"]?.split(";")[0]]
    const answer = ["application/json", "application/problem+json"].includes(type) ? JSON.parse(text) : {}
    if (status === 200 && type === "application/json") return answer
    const detail = answer.detail ?? "this is no answer of a daemon"
    if (type === "application/problem+json" && GONE.includes(answer.type)) throw new Gone(detail)
    throw new Error(`${detail} (status ${status})`)
  }
}
