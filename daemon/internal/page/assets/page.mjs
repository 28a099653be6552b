// The page follows the daemon: it asks for the state every 0.7 s, for a large one every 2 s, and for the history every 10 s, and only while it is seen.
import uPlot from "./uplot/uPlot.esm.js"
import { at, clocks, colour, day, decimals, duration, grouped, h, letterOf, offset, relative, sentence, spark, states, utc, windows } from "./draw.mjs"
import { Pool } from "./pool.mjs"
import { wireTheme } from "./theme.mjs"
import { wireTools } from "./tools.mjs"

const $ = (id) => document.getElementById(id)
const [stateEvery, largeEvery, historyEvery, staleAfter] = [700, 2000, 10_000, 4500] // ms; tick looks each 500 ms, so the page is stale within 5 s
/** The lists and maps of the answers, which may be null where they are empty. */
const lists = new Set(["problems", "generators", "namespaces", "events", "refusals", "changes", "refused", "holders", "rest", "fields", "counts", "times", "rates", "store_ms", "errors", "workers"])

let state = null // the last answers
let history = null
let etag = "" // of the state
let large = false // so many open pages cost the daemon little
let taken = 0 // the daemon's clock at the last answer, in ms, and
let answered = performance.now() // this page's clock then
let seen = 0 // since when the page is seen, by the same clock

/** now is the daemon's clock, carried on by this page's. */
const now = () => taken + performance.now() - answered

/** ask fetches JSON. A problem is thrown as an Error with its words; null is an answer that did not change. */
async function ask(path, options = {}) {
  const response = await fetch(path, { signal: AbortSignal.timeout(4000), cache: "no-store", ...options })
  if (response.status === 304) return null
  if (response.status === 401) location.reload() // the token is no longer good: the form asks for one
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}))
    throw new Error(problem.detail || problem.title || `the daemon answered ${response.status}`)
  }
  const text = await response.text()
  const body = JSON.parse(text, (key, value) => (value === null && lists.has(key) ? [] : value))
  options.seen?.(response.headers.get("ETag") || "", text.length > 32_768)
  return body
}

const pool = new Pool(now, ask)
let moveWindows = () => {}

const verdicts = { safe: "All ids are safe", soon: "All ids are safe, but look at this soon", stopped: "A generator has stopped. No id repeats", unsafe: "Ids may repeat: act now" }

/** set writes a text where it changed, so that a screen reader reads changes alone. */
function set(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** refill gives an element other children where their key changed, so that links keep their focus. */
function refill(element, key, ...children) {
  if (element.dataset.key !== key) element.replaceChildren(...children)
  element.dataset.key = key
}

const entry = (anchor) => h("a", { href: `/ui/runbook#${anchor}`, textContent: anchor })

function showVerdict() {
  const worst = state.problems[0]?.severity || "safe"
  $("verdict").className = `verdict ${worst}`
  set($("status"), worst === "safe" && !state.generators.length ? "No generator is configured" : verdicts[worst])
  refill($("problems"), JSON.stringify(state.problems.map((p) => [p.severity, p.about, p.text, p.do])), ...state.problems.map((p) => h("li", { className: p.severity },
    h("p", {}, h("span", { className: "tag", textContent: p.severity }), " ", h("strong", { textContent: `${p.about}: ${p.text}` }), p.since ? h("span", { className: "muted", textContent: ` since ${utc(p.since)}` }) : ""),
    h("p", {}, ...sentence(p.do), " ", h("a", { href: `/ui/runbook#${p.entry}`, textContent: `Runbook: ${p.entry}` })))))
}

function showCards() {
  const cards = [...$("cards").querySelectorAll(".card")]
  if (cards.length !== state.generators.length || cards.some((card, i) => card.dataset.name !== state.generators[i].name)) {
    return location.reload() // the daemon was started with other generators
  }
  for (const [i, g] of state.generators.entries()) {
    const card = cards[i]
    const f = (name) => card.querySelector(`[data-f=${name}]`)
    card.className = `card ${g.stands_by ? "standby" : g.ready ? (g.trouble ? "soon" : "") : "stopped"}`
    set(f("ready"), g.stands_by ? "stands by" : g.ready ? (g.trouble ? "at risk" : "ready") : "stopped")
    set(f("rate"), grouped(decimals(0, g.rate)))
    set(f("last"), g.last || "none yet")
    set(f("worker"), g.worker === undefined ? "–" : String(g.worker))
    f("ends").replaceChildren(g.ends ? h("span", { className: g.ends_soon ? "warn" : "", textContent: g.ends_soon ? day(g.ends) : String(new Date(g.ends).getUTCFullYear()) }) : "–")
    set(f("ids"), grouped(g.ids))
    refill(f("refused"), JSON.stringify(g.refused), ...g.refused.flatMap((r, i) => [`${i ? ", " : ""}${grouped(r.count)} `, entry(r.problem)]), g.refused.length ? "" : "0")
    set(f("until"), utc(g.until) || (g.counter ? (g.counter.in_hand === "0" ? "they stop at once" : "those in hand") : "–"))
    set(f("offset"), g.offset_ms === undefined ? "–" : offset(g.offset_ms))
    for (const name of ["waits", "losses", "extensions"]) set(f(name), grouped(g[name]))
    f("problem").hidden = !g.problem && !g.trouble
    refill(f("problem"), `${g.problem} ${g.trouble}`, g.problem ? entry(g.problem) : "", " " + (g.trouble || ""))
    f("window").hidden = !g.window_ms
  }
}

/** tickCards shortens the bar of each window. */
function tickCards() {
  for (const [i, g] of state.generators.entries()) {
    const card = $("cards").querySelectorAll(".card")[i]
    if (!card || !g.window_ms) continue
    const left = Math.max(0, g.left_ms - (now() - at(state.taken)))
    const bar = card.querySelector("progress")
    bar.max = g.window_ms
    bar.value = left
    card.querySelector(".window").classList.toggle("low", left < g.window_ms / 3)
    set(card.querySelector("[data-f=left]"), `${duration(left)} of ${duration(g.window_ms)}`)
  }
}

const charts = {}

/** chart draws series over the last hour. Dashes distinguish the lines, beside the legend's names. */
function chart(id, label, times, series) {
  const host = $(id)
  const key = series.map((line) => line.name).join("\n")
  const data = [times, ...series.map((line) => line.values)]
  if (charts[id]?.key === key) return charts[id].plot.setData(data)
  charts[id]?.plot.destroy()
  const axis = { stroke: () => colour("muted"), grid: { stroke: () => colour("axis-line"), width: 1 }, ticks: { show: false }, font: "12px system-ui", gap: 6 }
  const dashes = [[], [7, 4], [2, 3]]
  const plot = new uPlot({
    width: host.clientWidth, height: 190, legend: { markers: { width: 2, dash: (_, i) => (i && !series[i - 1].bars ? ["solid", "dashed", "dotted"][(i - 1) % 3] : "solid") } }, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    cursor: { points: { size: 6 }, y: false }, scales: { x: { range: (_, first, last) => [Math.max(last - 3600, Math.min(first, last - 300)), last] }, y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] }, n: { range: (_, low, high) => [0, Math.max(high * 3, 5)] } },
    axes: [{ ...axis, size: 30, values: (_, splits) => splits.map((t) => utc(t * 1000).slice(11, 16)) }, { ...axis, size: 52, values: (_, splits) => splits.map((v) => (v >= 1 || !v ? grouped(Math.round(v * 10) / 10) : String(v))) },
      ...(series.some((line) => line.bars) ? [{ ...axis, scale: "n", side: 1, size: 44, grid: { show: false }, stroke: () => colour("alert") }] : [])],
    series: [{ label: "UTC", value: (_, t) => (t ? utc(t * 1000).slice(11) : "–") }, ...series.map((line, i) => ({
      label: line.name, scale: line.bars ? "n" : "y", width: line.bars ? 1 : 1.5, dash: line.bars ? [] : dashes[i % 3],
      stroke: () => colour(line.bars ? "alert" : i % 2 ? "t-second" : "t-first"), fill: line.bars ? () => colour("alert") : undefined,
      paths: line.bars ? uPlot.paths.bars({ size: [1, 6] }) : undefined, points: { show: false }, value: (_, v) => (v === null ? "–" : grouped(decimals(line.digits, v))),
    }))],
  }, data, host)
  plot.root.setAttribute("role", "img")
  plot.root.setAttribute("aria-label", `${label}: the table below has the figures`)
  charts[id] = { key, plot }
}

function showCharts() {
  const { times } = history
  const lines = (of, name, digits, bars) => Object.entries(of).filter(([, values]) => !bars || values.some((v) => v)).map(([key, values]) => ({ name: name(key), values, digits, bars }))
  chart("rates", "Ids a second in the last hour", times, [...lines(history.rates, (n) => n, 0, false), ...lines(history.refused, (n) => `${n}, refused`, 1, true)])
  chart("store", "Time of the store's requests in the last hour", times, [...lines(history.store_ms, (n) => n || "store", 2, false), ...lines(history.errors, (n) => `${n || "store"}, failed`, 0, true)])
  for (const card of $("cards").querySelectorAll(".card")) spark(card.querySelector(".spark"), (history.rates[card.dataset.name] || []).slice(-90))
}

/** rows fills a table's body, where it changed. A row is a list of texts, and of { entry } for links to the runbook. */
function rows(id, list) {
  const kinds = [...$(id).querySelectorAll("thead th")].map((head) => head.className || (head.textContent.includes("UTC") ? "num" : ""))
  const cell = (text, i) => h(i ? "td" : "th", { className: kinds[i], ...(i ? {} : { scope: "row" }) }, text?.entry ? entry(text.entry) : text)
  refill($(id).tBodies[0], JSON.stringify(list), ...list.map((row) => h("tr", {}, ...row.map(cell))))
}

const stateOf = (w) => (letterOf(w) === "h" ? "held" : states[letterOf(w)][0])

/** The twins of the drawings, by data-twin. They are filled while they are open. */
const twins = {
  holders() {
    rows("counts-t", state.namespaces.map((n) => [n.name, n.store, grouped(n.capacity), grouped(n.held), n.lent, n.silent, n.ended, ...["resting", "quarantined", "foreign", "unreadable", "used-up", "free"].map((name) => grouped(n.counts[name] || 0)), utc(n.read)]))
    rows("holders-t", state.namespaces.flatMap((n) => [...n.holders, ...n.rest].map((w) => [n.name, w.worker, stateOf(w), w.host, w.pid, w.program, w.term, utc(w.from), utc(w.written)])))
  },
  windows() {
    rows("windows-t", state.namespaces.flatMap((n) => n.holders.map((w) => [n.name, w.worker, w.host, stateOf(w), utc(w.written), utc(w.until), relative(at(w.until), now()), duration(w.window_ms)])))
  },
  clocks() {
    rows("clocks-t", state.namespaces.flatMap((n) => n.holders.map((w) => [n.name, w.worker, w.host, decimals(1, w.offset_ms) || "not seen yet", w.offset_ms === undefined ? "" : decimals(1, w.offset_error_ms || 0), n.clock])))
  },
  rates: () => minutes("rates-t", [...Object.values(history.rates), ...Object.values(history.refused)].map((of) => [of, 1])),
  store: () => minutes("store-t", [...Object.values(history.store_ms).map((of) => [of, 2]), ...Object.values(history.errors).map((of) => [of, 0])]),
}

/** minutes fills a twin with the greatest value of each minute's six points. */
function minutes(id, columns) {
  const top = (of, i) => of.slice(i, i + 6).reduce((a, b) => (a === null || (b !== null && b > a) ? b : a))
  if (history) rows(id, history.times.flatMap((t, i) => (i % 6 ? [] : [[utc(t * 1000), ...columns.map(([of, digits]) => decimals(digits, top(of, i)))]])))
}

const showTwins = () => document.querySelectorAll("details.twin[open]").forEach((twin) => twins[twin.dataset.twin]())

function showTables() {
  rows("refusals-t", state.refusals.map((r) => [r.generator || "–", { entry: r.problem }, grouped(r.count), utc(r.last), r.address, r.token]))
  rows("changes-t", state.namespaces.flatMap((n) => n.changes.map((c) => [n.name, c.worker, utc(c.seen), c.what, c.from, c.to])))
  const counting = state.generators.filter((g) => g.counter)
  if (counting.length) rows("counters-t", counting.map(({ name, rate, counter: c }) => [name, c.name, grouped(c.next), decimals(1, rate), grouped(c.left), c.limit === "0" ? "of its system" : grouped(c.limit), grouped(c.in_hand), c.waiting, day(c.runs_out), c.guard || "none"]))
}

/** busiest is the namespace that an operator wants to see first. */
const busiest = () => state.namespaces.map((n) => n.held + 1e6 * (n.silent + (n.counts.quarantined || 0))).reduce((best, n, i, all) => (n > all[best] ? i : best), 0)

function showPool() {
  const names = state.namespaces.map((n) => (n.store ? `${n.name} in ${n.store}` : n.name))
  if (JSON.stringify([...$("pool").options].map((o) => o.textContent)) !== JSON.stringify(names)) {
    $("pool").replaceChildren(...names.map((name) => h("option", { textContent: name })))
    $("pool").selectedIndex = busiest()
  }
  $("pick").hidden = names.length < 2
  const n = state.namespaces[$("pool").selectedIndex] || state.namespaces[0]
  if (!n) return
  pool.show(n)
  $("pool-error").hidden = !n.error
  set($("pool-error"), n.error ? `The namespace could not be read: ${n.error}. These figures are ${duration(now() - at(n.read))} old.` : "")
  moveWindows = windows($("windows-c"), n.holders, now())
  moveWindows(now())
  set($("windows-more"), n.held > n.holders.length ? `${grouped(n.holders.length)} of ${grouped(n.held)} holders are shown: this daemon's, then silent ones, then by worker id.` : "")
  const rollback = Math.max(0, ...state.generators.filter((g) => g.namespace === n.name && g.store === n.store).map((g) => g.max_rollback_ms || 0))
  clocks($("clocks-c"), n.holders, rollback)
  for (const place of document.querySelectorAll(".pool-of")) set(place, names.length > 1 ? `Namespace ${names[$("pool").selectedIndex]}.` : "")
  set($("clocks-by"), `Against ${n.clock === "store" ? "the store's clock" : "the median of the holders"}.`)
  $("clocks-legend").replaceChildren(
    h("li", {}, h("span", { className: "swatch band-out" }), "beyond 10 min nothing is claimed, and ids stop"),
    ...(rollback ? [h("li", {}, h("span", { className: "swatch band-in" }), `within max-rollback, ${duration(rollback)}: a step back is waited out`)] : []))
}

function showEvents() {
  if (!state.events.length) return
  refill($("events-l"), `${state.events[0].number} ${state.events.length}`, ...state.events.map((e) => h("li", { className: e.level },
    h("time", { dateTime: e.time, textContent: utc(e.time) }), h("span", { className: "level", textContent: e.level }),
    h("p", {}, h("strong", { textContent: e.text }), ...e.fields.map(([name, value]) => h("span", { className: "field" }, h("span", { textContent: name }), " " + value))),
    e.entry ? entry(e.entry) : "")))
}

function show() {
  showVerdict()
  showCards()
  showTables()
  showPool()
  showEvents()
  showTwins()
  tick()
}

/** tick moves ages and windows on. */
function tick() {
  const silent = performance.now() - answered
  const stale = !document.hidden && Math.min(silent, performance.now() - seen) > staleAfter
  document.documentElement.classList.toggle("stale", stale)
  if ($("stale").hidden === stale) {
    $("stale").hidden = !stale
    if (state && !stale) showVerdict()
    if (stale) [$("verdict").className, $("status").textContent] = ["verdict stopped", "This daemon does not answer"]
  }
  set($("age"), `${Math.floor(silent / 1000)} s`)
  set($("stale-age"), `${Math.floor(silent / 1000)} s`)
  if (!state) return
  set($("stale-from"), utc(taken))
  if (stale) return
  set($("taken"), utc(taken))
  set($("started"), relative(at(state.daemon.started), now()))
  tickCards()
}

/** glide moves the windows ten times a second, a fraction of a pixel each, while they can be seen. */
function glide() {
  const { top, bottom } = $("windows-c").parentElement.getBoundingClientRect()
  if (state && !document.hidden && bottom > 0 && top < innerHeight && !document.documentElement.classList.contains("stale")) moveWindows(now())
}

async function followState() {
  const sent = performance.now()
  const body = await ask("/ui/state", { headers: etag ? { "If-None-Match": etag } : {}, seen: (...is) => ([etag, large] = is) })
  const received = (sent + performance.now()) / 2
  taken = body ? at(body.taken) : taken + received - answered // unchanged, and so as good as new
  answered = received
  state = body || state
  body ? show() : tick()
}

async function followHistory() {
  history = await ask("/ui/history")
  showCharts()
  showTwins()
}

/** follow calls work again and again while the page is seen, whatever becomes of it: the page turns stale by itself. */
function follow(work, every) {
  const once = () => document.hidden || work().catch(() => {})
  const again = () => Promise.resolve(once()).then(() => setTimeout(again, every()))
  again()
  document.addEventListener("visibilitychange", once)
}

function wire() {
  wireTheme(() => repaint())
  wireTools(ask)
  $("pool").addEventListener("change", () => state && showPool())
  for (const twin of document.querySelectorAll("details.twin")) twin.addEventListener("toggle", () => state && showTwins())
  const repaint = () => {
    if (state) showPool()
    for (const chart of Object.values(charts)) chart.key = "" // it is made again, for its legend keeps its colours
    if (history) showCharts()
  }
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(query).addEventListener("change", repaint)
  let still = true // nobody has moved the page yet
  for (const act of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(act, () => (still = false), { once: true, passive: true })
  new ResizeObserver(() => {
    for (const [id, { plot }] of Object.entries(charts)) plot.setSize({ width: $(id).clientWidth, height: 190 })
    if (state) showPool()
    if (still) $(location.hash.slice(1))?.scrollIntoView({ behavior: "instant" }) // a link leads here though panels above have grown
  }).observe(document.querySelector("main"))
  const links = new Map([...document.querySelectorAll(".bar nav a")].map((a) => [a.hash.slice(1), a]))
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue
      for (const [id, link] of links) id === target.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")
    }
  }, { rootMargin: "-20% 0px -70%" })
  for (const id of links.keys()) watch.observe($(id))
  document.addEventListener("visibilitychange", () => (seen = performance.now()))
}

wire()
follow(followState, () => (large ? largeEvery : stateEvery))
follow(followHistory, () => historyEvery)
setInterval(tick, 500)
if (!matchMedia("(prefers-reduced-motion: reduce)").matches) setInterval(glide, 100)
