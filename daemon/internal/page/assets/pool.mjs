// The heat map of worker ids, and the register of the chosen one.
import { at, cell, command, fit, grouped, h, letterOf, offset, palette, relative, states, swatch, utc } from "./draw.mjs"

const canvas = document.getElementById("map")
const register = document.getElementById("register")

/** Pool shows one namespace. now returns the daemon's time, ask fetches JSON. */
export class Pool {
  #now
  #ask
  #namespace = null
  #chosen = 0 // a cell
  #shown = null // the register beside the map
  #wanted = 0 // counts requests, so that a late answer is dropped
  #grid = { columns: 32, size: 12, gutter: 0 }

  constructor(now, ask) {
    this.#now = now
    this.#ask = ask
    canvas.addEventListener("keydown", (event) => this.#key(event))
    canvas.addEventListener("click", (event) => this.#pick(this.#cellAt(event), true))
    canvas.addEventListener("pointermove", (event) => this.#namespace && this.#say(this.#cellAt(event)))
    canvas.addEventListener("pointerleave", () => this.#namespace && this.#say(-1))
    new ResizeObserver(() => this.paint()).observe(canvas.parentElement)
  }

  /** show takes a namespace as it stands now. */
  show(namespace) {
    const other = this.#namespace === null || this.#namespace.name !== namespace.name || this.#namespace.store !== namespace.store
    this.#namespace = namespace
    this.#legend()
    if (other) {
      const first = [..."seoqluh"].map((letter) => namespace.cells.indexOf(letter)).find((i) => i >= 0)
      this.#pick(first ?? 0, true)
    } else {
      this.paint()
      const w = this.#holder(this.#shown?.worker)
      if (w) this.#write(w)
      else if (this.#shown && namespace.bin === 1 && letterOf(this.#shown) !== namespace.cells[this.#chosen]) this.#open()
    }
  }

  #legend() {
    const { counts, lent, silent, cells, bin, holders } = this.#namespace
    const colours = palette()
    const ours = holders.filter((w) => w.ours).length
    const held = (counts.held || 0) - ours - lent - silent
    const n = { o: ours, h: held, l: lent, s: silent, r: counts.resting, q: counts.quarantined, f: counts.foreign, u: counts.unreadable, x: counts["used-up"], e: this.#namespace.ended, ".": counts.free - this.#namespace.ended }
    document.getElementById("legend").replaceChildren(
      ...Object.entries(states).filter(([letter]) => "ohlsrq.".includes(letter) || n[letter] || cells.includes(letter))
        .map(([letter, [name]]) => h("li", {}, swatch(letter, colours), h("span", {}, h("b", { className: "num", textContent: grouped(n[letter] || 0) }), " " + (letter === "h" ? "held by others" : name.replace("-", " "))))),
      ...(bin > 1 ? [h("li", { className: "muted", textContent: `a cell is ${grouped(bin)} worker ids` })] : []),
    )
  }

  /** paint draws all cells: at most 4,096. */
  paint() {
    if (!this.#namespace) return
    const { cells, bin } = this.#namespace
    const width = canvas.parentElement.clientWidth
    const columns = Math.min(cells.length, cells.length > 1024 ? 64 : 32)
    const gutter = width > 560 ? 8 + 7 * String(bin * cells.length).length : 0
    const size = Math.max(2, Math.min(24, Math.floor((width - gutter) / columns)))
    this.#grid = { columns, size, gutter }
    const rows = Math.ceil(cells.length / columns)
    const c = fit(canvas, width, rows * size + 4)
    const colours = palette()
    for (let i = 0; i < cells.length; i++) cell(c, ...this.#place(i), size, cells[i], colours)
    c.fillStyle = getComputedStyle(document.getElementById("map-help")).color
    c.font = "11px system-ui, sans-serif"
    c.textAlign = "right"
    for (let row = 0; gutter && row < rows; row += Math.ceil(14 / size)) {
      c.fillText(grouped(row * columns * bin), gutter - 8, row * size + size / 2 + 6)
    }
    const [x, y] = this.#place(this.#chosen)
    c.strokeStyle = colours.text
    c.lineWidth = 2
    c.strokeRect(x - 1, y - 1, size + (size > 8 ? 0 : 1), size + (size > 8 ? 0 : 1))
  }

  #place(i) {
    const { columns, size, gutter } = this.#grid
    return [gutter + 2 + (i % columns) * size, 2 + Math.floor(i / columns) * size]
  }

  #cellAt(event) {
    const { columns, size, gutter } = this.#grid
    const column = Math.floor((event.offsetX - gutter - 2) / size)
    const i = Math.floor((event.offsetY - 2) / size) * columns + column
    return column >= 0 && column < columns && i >= 0 && i < this.#namespace?.cells.length ? i : -1
  }

  #say(i) {
    document.getElementById("map-at").textContent = this.#words(i < 0 ? this.#chosen : i) + "."
  }

  #key(event) {
    if (!this.#namespace) return
    const last = this.#namespace.cells.length - 1
    const { columns } = this.#grid
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: 4 * columns, PageUp: -4 * columns, Home: -last, End: last, Enter: 0 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    if (by) this.#pick(Math.max(0, Math.min(last, this.#chosen + by)), false)
    else void this.#open().then(() => register.querySelector("h3")?.focus())
  }

  #pick(i, open) {
    if (i < 0) return
    this.#chosen = i
    this.paint()
    const words = this.#words(i)
    canvas.setAttribute("aria-valuemax", String(this.#namespace.cells.length - 1))
    canvas.setAttribute("aria-valuenow", String(i))
    canvas.setAttribute("aria-valuetext", words)
    this.#say(i)
    if (open) void this.#open()
  }

  /** words describes a cell, for people who don't see it too. */
  #words(i) {
    const { bin, cells } = this.#namespace
    const state = (states[cells[i]] || ["", "unknown"])[1]
    if (bin > 1) return `Worker ids ${grouped(i * bin)} to ${grouped((i + 1) * bin - 1)}: ${cells[i] === "." ? "all free" : "some are " + state}`
    const host = this.#holder(i)?.host
    return `Worker id ${i}: ${state}${host ? ", " + host : ""}`
  }

  #holder(n) {
    return [...this.#namespace.holders, ...this.#namespace.rest].find((w) => w.worker === n)
  }

  /** open shows the register of the chosen cell, or the registers of a bin. */
  async #open() {
    const { bin, store, name, capacity } = this.#namespace
    const from = this.#chosen * bin
    const known = bin === 1 && this.#holder(from)
    if (known) return this.#write(known)
    const mine = ++this.#wanted
    const to = Math.min(from + Math.min(bin, 256), Number(capacity))
    try {
      const found = await this.#ask("/ui/workers?" + new URLSearchParams({ store, namespace: name, from, to }))
      if (mine !== this.#wanted) return
      const registers = found.workers.filter((w) => w.worker >= from && w.worker < to)
      if (bin === 1 && registers.length) this.#write(registers[0])
      else this.#list(registers, from, to)
    } catch (problem) {
      if (mine === this.#wanted) register.replaceChildren(h("h3", { textContent: `Worker id ${from}`, tabIndex: -1 }), h("p", { className: "alert", textContent: problem.message }))
    }
  }

  #list(registers, from, to) {
    this.#shown = null
    const used = registers.filter((w) => w.state !== "free")
    const button = (w) => h("button", { type: "button", textContent: String(w.worker), title: states[letterOf(w)][1], onclick: () => this.#write(w) })
    register.replaceChildren(
      h("h3", { textContent: `Worker ids ${grouped(from)} to ${grouped(to - 1)}`, tabIndex: -1 }),
      h("p", { className: "muted", textContent: used.length ? "Those that are not free:" : "All of these are free." }),
      h("div", { className: "bins" }, ...used.map(button)),
    )
  }

  #write(w) {
    const now = this.#now()
    const n = w.worker
    const letter = letterOf(w)
    const where = this.#namespace.flags || ""
    const instant = (time) => (Number.isNaN(at(time)) ? "–" : `${utc(time)}, ${relative(at(time), now)}`)
    const facts = [
      [w.state === "held" ? "who" : "held last by", w.host ? `${w.host}, process ${w.pid}` : ""], ["program", w.program],
      ["since, UTC", w.term ? `${instant(w.from)} (term ${w.term})` : ""], ["until, UTC", w.term ? instant(w.until) : ""],
      [letter === "q" ? "quarantined, UTC" : "last write by its clock, UTC", at(w.written) ? instant(w.written) : ""],
      ["clock", w.offset_ms === undefined ? "" : `${offset(w.offset_ms)}, uncertain by ${(w.offset_error_ms || 0).toFixed(1)} ms`],
      ["a claim of just this one gets", w.claimant || "it"],
    ]
    const list = h("dl", {}, ...facts.filter(([, value]) => value).map(([name, value]) => h("div", { className: "wide" }, h("dt", { textContent: name }), h("dd", { className: "num", textContent: value }))))
    const acts = [[`snowfence workers show ${n}${where}`, "prints all that the store keeps of it."]]
    if (letter === "q") acts.push([`snowfence workers quarantine ${n} --clear${where}`, "lets it be claimed again."])
    else if ("uf".includes(letter)) acts.push([`snowfence namespace verify${where}`, "shows what is wrong. No process claims it, so nothing else is needed for now."])
    else acts.push([`snowfence workers quarantine ${n}${where} --yes`, "keeps it from being claimed. " + (w.state === "held" ? "Its holder ends its term within a third of its window." : "No process has it now, so none is disturbed.")])
    if (letter === "s") acts.push([`snowfence workers release ${n}${where} --yes`, "takes it away from its holder, and repeats no id. A holder that lives claims another."])
    const texts = JSON.stringify([letter, acts])
    if (register.dataset.of === texts && this.#shown) { // only the facts changed: buttons keep their focus
      register.querySelector("dl").replaceWith(list)
    } else {
      register.replaceChildren(
        h("h3", { tabIndex: -1 }, `Worker id ${n}`), h("p", { className: "line" }, swatch(letter, palette()), states[letter][1]), list,
        h("div", { className: "acts" }, ...acts.map(([text, does]) => h("div", {}, command(text), h("p", { textContent: does })))),
      )
    }
    register.dataset.of = texts
    this.#shown = w
  }
}
