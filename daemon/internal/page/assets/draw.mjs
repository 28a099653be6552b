// Words, elements and drawings: nothing here asks the daemon or keeps a state of the page but a drawing's own.

/** h makes an element. Properties are set as such, those with a dash as attributes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role" || name === "scope") element.setAttribute(name, value)
    else element[name] = value
  }
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

/** s makes an element of SVG, whose properties are attributes. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

const zero = "0001-01-01T00:00:00Z"

/** at is an instant in milliseconds; NaN for none. */
export const at = (time) => (time && time !== zero ? Date.parse(time) : NaN)

/** utc writes an instant, given in milliseconds or as a text; empty for none. */
export function utc(time) {
  const ms = typeof time === "number" ? time : at(time)
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString().slice(0, 19).replace("T", " ")
}

/** duration writes milliseconds in their two largest units, as the template does. */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  const units = [[31_556_952, "year", "years"], [86_400, "day", "days"], [3600, "h", "h"], [60, "min", "min"], [1, "s", "s"]]
  const seconds = Math.floor(ms / 1000)
  const i = units.findIndex(([size]) => seconds >= size)
  const write = (n, [, one, many]) => `${n} ${n === 1 ? one : many}`
  const rest = i + 1 < units.length ? Math.floor((seconds % units[i][0]) / units[i + 1][0]) : 0
  return write(Math.floor(seconds / units[i][0]), units[i]) + (rest ? " " + write(rest, units[i + 1]) : "")
}

/** relative writes an instant against now, both in milliseconds; empty for none. */
export function relative(ms, now) {
  if (Number.isNaN(ms) || Math.abs(ms - now) < 1000) return Number.isNaN(ms) ? "" : "now"
  return ms < now ? `${duration(now - ms)} ago` : `in ${duration(ms - now)}`
}

/** grouped writes a whole number, or a text of one, with commas: never by way of a float, for ids pass 2⁵³. */
export const grouped = (n) => String(n).replace(/^(-?\d+)/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ","))

/** decimals writes a number; empty for none. */
export const decimals = (n, x) => (x === null || x === undefined ? "" : x.toFixed(n))

/** offset writes how far a clock is ahead. */
export const offset = (ms) => (ms < 0 ? "−" : "+") + (Math.abs(ms) < 1000 ? `${Math.abs(ms).toFixed(1)} ms` : duration(Math.abs(ms)))

/** day writes the date of an instant. */
export const day = (time) => utc(time).slice(0, 10) || "–"

/** sentence makes nodes of a text whose commands stand between backquotes. */
export const sentence = (text) => text.split("`").map((part, i) => (i % 2 ? command(part) : part))

/** command shows a command, which breaks between its words alone, with a button that copies it. */
export function command(text) {
  const words = text.split(" ").flatMap((word) => [" ", h("span", { textContent: word })]).slice(1)
  return h("span", { className: "line" }, h("code", { className: "command" }, ...words), copier(text))
}

/** copier is a button that copies a text. */
export function copier(text, name = text) {
  return h("button", { type: "button", className: "copy", textContent: "Copy", "data-copy": text, "aria-label": `Copy ${name}` })
}

/** The states of a worker id, by the letter of a cell: the class of its colour, and its words. */
export const states = {
  o: ["ours", "held by this daemon"], h: ["held", "held"], l: ["lent", "lent to a program"], s: ["silent", "held, and silent"],
  r: ["resting", "resting"], q: ["quarantined", "quarantined"], f: ["foreign", "foreign"], u: ["unreadable", "unreadable"],
  x: ["used-up", "used up"], e: ["ended", "free: its holder ended, and did not give it back"], ".": ["free", "free"],
}

/** letterOf is the letter of a register, in the order of the cells. */
export function letterOf(w) {
  if (w.state !== "held") return { quarantined: "q", unreadable: "u", foreign: "f", resting: "r", "used-up": "x" }[w.state] || (w.ended ? "e" : ".")
  return w.silent ? "s" : w.ours ? "o" : w.lent ? "l" : "h"
}

/** colour reads a colour of the style sheet, as the theme has it now. */
export function colour(name) {
  const probe = document.body.appendChild(h("span", { className: name, hidden: true }))
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

const letters = matchMedia("(forced-colors: active)")

/** palette has the colours of cells; a canvas can't read them from classes by itself. */
export function palette() {
  const found = { text: getComputedStyle(document.body).color, ground: getComputedStyle(document.documentElement).backgroundColor }
  for (const letter of Object.keys(states)) found[letter] = colour("s-" + states[letter][0])
  return found
}

/** The strokes that distinguish states, beside their colours, in parts of a cell. */
const strokes = {
  s: [[0.05, 0.6, 0.6, 0.05], [0.4, 0.95, 0.95, 0.4]], q: [[0.25, 0.25, 0.75, 0.75], [0.75, 0.25, 0.25, 0.75]],
  e: [[0.25, 0.25, 0.75, 0.75]], f: [[0.5, 0.2, 0.5, 0.8], [0.2, 0.5, 0.8, 0.5]], x: [[0.2, 0.5, 0.8, 0.5]], u: [[0.5, 0.15, 0.5, 0.6], [0.5, 0.72, 0.5, 0.88]],
}

/** cell paints one worker id: a colour and a shape for each state, or a letter where colours are the reader's. */
export function cell(c, x, y, size, letter, colours) {
  const a = size - (size > 8 ? 2 : 1)
  const line = (c.lineWidth = Math.max(1, a / 8))
  if (letters.matches) {
    c.font = `${Math.max(8, a)}px monospace`
    c.textAlign = "center"
    c.fillStyle = colours.text
    return c.fillText(letter === "." ? "·" : letter.toUpperCase(), x + a / 2, y + a * 0.85)
  }
  c.fillStyle = c.strokeStyle = colours[letter] || colours.f
  if (letter === "r") return c.strokeRect(x + line / 2, y + line / 2, a - line, a - line)
  c.beginPath()
  c.roundRect(x, y, a, a, Math.min(3, a / 5))
  c.fill()
  c.fillStyle = c.strokeStyle = colours.ground
  if (letter === "o") c.strokeRect(x + a * 0.28, y + a * 0.28, a * 0.44, a * 0.44)
  if (letter === "l") c.fillRect(x + a * 0.34, y + a * 0.34, a * 0.32, a * 0.32)
  c.beginPath()
  for (const [x0, y0, x1, y1] of strokes[letter] || []) {
    c.moveTo(x + a * x0, y + a * y0)
    c.lineTo(x + a * x1, y + a * y1)
  }
  c.stroke()
}

/** fit makes a canvas as large as its cells, sharp on this screen, and returns its context. */
export function fit(canvas, width, height) {
  const ratio = devicePixelRatio || 1
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  canvas.style.height = `${height}px`
  const c = canvas.getContext("2d")
  c.scale(ratio, ratio)
  return c
}

/** swatch is a state's cell for a legend. */
export function swatch(letter, colours) {
  const canvas = h("canvas", { className: "swatch", "aria-hidden": "true" })
  cell(fit(canvas, 15, 15), 0, 0, 17, letter, colours)
  return canvas
}

/** spark draws a line of values, whose least is 0. */
export function spark(svg, values) {
  const known = values.filter((v) => v !== null)
  const most = Math.max(...known, 1e-9)
  const y = (v) => (38 - (36 * v) / most).toFixed(1)
  const points = values.flatMap((v, i) => (v === null ? [] : `${((150 * i) / Math.max(1, values.length - 1)).toFixed(1)},${y(v)}`))
  svg.replaceChildren(s("polyline", { points: points.join(" "), "vector-effect": "non-scaling-stroke" }))
}

/** frame is what drawings with a row for each holder share: labels on the left, a figure on the right, an axis below. */
function frame(host, holders, label) {
  const width = Math.max(240, host.clientWidth)
  const narrow = width < 560
  const row = 26
  const left = narrow ? 108 : 210
  const right = narrow ? 62 : 116
  const height = holders.length * row + 26
  const svg = s("svg", { class: "draw", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label} of ${holders.length} holders` })
  const rows = holders.map((w, i) => {
    const y = i * row
    const state = letterOf(w) === "h" ? "" : ` · ${states[letterOf(w)][0]}`
    const room = Math.floor((left - 44) / 6.6) // characters
    const name = narrow ? (state ? states[letterOf(w)][0] + " " : "") + w.host : w.host + state
    svg.append(
      s("text", { x: 28, y: y + 17, class: "t-end" }, String(w.worker)),
      s("text", { x: 38, y: y + 17, class: "t-muted" }, s("title", {}, w.host + state), name.length > room ? name.slice(0, room - 1) + "…" : name),
    )
    const figure = s("text", { x: width, y: y + 17, class: "t-end" })
    svg.append(figure)
    return { w, y, figure }
  })
  return { svg, rows, left, x1: width - right, height, narrow, row }
}

/** windows draws a bar for each holder on one axis of time. The result moves it on to an instant. */
export function windows(host, holders, now) {
  const { svg, rows, left, x1, height, narrow } = frame(host, holders, "Windows")
  const most = Math.min(Math.max(5000, ...holders.map((w) => w.window_ms)), 900_000)
  const from = now - 0.65 * most
  const scale = (x1 - left) / (1.75 * most)
  const x = (ms) => left + (ms - from) * scale
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600].map((n) => n * 1000)
  const step = steps.find((n) => n * scale > (narrow ? 64 : 90)) || 600_000
  const clip = s("clipPath", { id: "windows-clip" }, s("rect", { x: left, y: 0, width: x1 - left, height }))
  const moving = s("g")
  for (let t = Math.ceil((from - most) / step) * step; t < now + 2.2 * most; t += step) {
    moving.append(
      s("line", { class: "axis", x1: x(t), x2: x(t), y1: 0, y2: height - 22 }),
      s("text", { class: "t-mid t-muted", x: x(t), y: height - 6 }, utc(t).slice(11)),
    )
  }
  for (const { w, y } of rows) {
    const [written, until] = [at(w.written), at(w.until)]
    const floor = Math.max(at(w.from) || written, from - most)
    const bar = (a, b, more) => s("rect", { class: `s-${states[letterOf(w)][0]}${more}`, x: x(a), y: y + 7, width: Math.max(0, (Math.min(b, now + 3 * most) - a) * scale), height: 12, rx: 3 })
    moving.append(bar(floor, Math.min(written, until), " past"), bar(written, until, ""))
  }
  svg.append(s("defs", {}, clip), s("g", { "clip-path": "url(#windows-clip)" }, moving), s("line", { class: "now", x1: x(now), x2: x(now), y1: 0, y2: height - 20 }))
  host.replaceChildren(svg)
  return (instant) => {
    moving.setAttribute("transform", `translate(${((now - instant) * scale).toFixed(2)} 0)`)
    for (const { w, figure } of rows) {
      const left = at(w.until) - instant
      const words = Number.isNaN(left) ? "" : left > 0 ? (narrow ? "" : "ends in ") + duration(Math.max(1000, left)) : "ended"
      if (figure.textContent !== words) figure.textContent = words
    }
  }
}

const minute = 60_000

/** clocks draws each holder's offset and its error, on an axis that is linear near zero and then logarithmic. */
export function clocks(host, holders, rollback) {
  const { svg, rows, left, x1, height, narrow } = frame(host, holders, "Clocks")
  const most = Math.max(15 * minute, ...holders.map((w) => 1.3 * (Math.abs(w.offset_ms ?? 0) + (w.offset_error_ms || 0))))
  const log = (ms) => Math.sign(ms) * Math.log10(1 + Math.abs(ms))
  const x = (ms) => (left + x1) / 2 + (log(Math.max(-most, Math.min(most, ms))) / log(most)) * ((x1 - left) / 2)
  const band = (a, b, kind) => s("rect", { class: `band ${kind}`, x: x(a), y: 0, width: x(b) - x(a), height: height - 22 })
  svg.prepend(band(-most, -10 * minute, "out"), band(10 * minute, most, "out"), ...(rollback ? [band(-rollback, rollback, "in")] : []))
  const marks = [[10, "10 ms"], [100, "100 ms"], [1000, "1 s"], [10_000, "10 s"], [minute, "1 min"], [10 * minute, "10 min"]]
    .filter((_, i) => (narrow ? i === 5 : x1 - left > 700 || i % 2)) // as many as have room
  for (const [ms, name] of [[0, "0"], ...marks, ...marks.map(([ms, name]) => [-ms, "−" + name])]) {
    svg.append(
      s("line", { class: "axis", x1: x(ms), x2: x(ms), y1: 0, y2: height - 22 }),
      s("text", { class: "t-mid t-muted", x: x(ms), y: height - 6 }, name),
    )
  }
  for (const { w, y, figure } of rows) {
    if (w.offset_ms === undefined) {
      figure.textContent = narrow ? "unseen" : "not seen yet"
      figure.setAttribute("class", "t-end t-muted")
      continue
    }
    const error = w.offset_error_ms || 0
    const [a, b] = [x(w.offset_ms - error), x(w.offset_ms + error)]
    svg.append(
      s("path", { class: `error-bar s-${states[letterOf(w)][0]}`, d: `M${a} ${y + 8}v10M${a} ${y + 13}H${b}M${b} ${y + 8}v10` }),
      s("circle", { class: `s-${states[letterOf(w)][0]}`, cx: x(w.offset_ms), cy: y + 13, r: 4.5 }, s("title", {}, `${offset(w.offset_ms)}, uncertain by ${duration(error)}`)),
    )
    figure.textContent = offset(w.offset_ms)
  }
  host.replaceChildren(svg)
}

/** strip draws the fields of an id, and its bits where there is room for digits. */
export function strip(host, fields) {
  const bits = Math.max(...fields.map((f) => f.shift + f.bits))
  const width = Math.max(240, host.clientWidth)
  const unit = width / bits
  const height = fields.some((f) => f.value) ? 66 : 46
  const label = "From the highest bit: " + fields.map((f) => `${f.bits} ${f.bits === 1 ? "bit" : "bits"} ${f.name}`).join(", ")
  const svg = s("svg", { class: "strip draw", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label })
  for (const f of fields.filter((f) => f.bits)) {
    const x = (bits - f.shift - f.bits) * unit
    const w = f.bits * unit
    const write = (y, kind, ...texts) => { // the first text that has room
      const text = texts.find((text) => text && text.length * 6.4 < w - 2)
      if (text) svg.append(s("text", { class: `t-mid ${kind}`, x: x + w / 2, y }, text))
    }
    svg.append(s("rect", { class: `k-${f.kind}`, x: x + 0.5, y: 18, width: Math.max(1, w - 1), height: 26, rx: 3 }, s("title", {}, `${f.name}, ${f.bits} bits${f.value ? ": " + f.value : ""}`)))
    write(12, "t-muted", `${f.name} · ${f.bits}`, f.name)
    if (!f.value) continue
    write(60, "", f.meaning, f.value)
    const digits = unit < 7 ? "" : BigInt(f.kind === "random" ? "0x" + f.value : f.value).toString(2).padStart(f.bits, "0")
    for (const [i, digit] of [...digits].entries()) svg.append(s("text", { class: "t-mid digit", x: x + (i + 0.5) * unit, y: 35 }, digit))
  }
  host.replaceChildren(svg)
}
