// Decode, plan and mint; and buttons that copy.
import { copier, grouped, h, strip } from "./draw.mjs"

const $ = (id) => document.getElementById(id)
const quiet = 250 // ms without a key or a move before a question is sent

/** dress adds to markup of the server what needs a script: buttons that copy, and strips as wide as their place. */
function dress(part) {
  for (const code of part.querySelectorAll("code.command")) code.after(" ", copier(code.textContent))
  for (const host of part.querySelectorAll("[data-fields]")) {
    new ResizeObserver(() => strip(host, JSON.parse(host.dataset.fields))).observe(host)
  }
}

/** wireQuery answers a form as it is filled in, by the part of the page that the server makes for its query. */
function wireQuery(form, out) {
  let asked = 0
  let timer = 0
  const run = async () => {
    const mine = ++asked
    clearTimeout(timer)
    if (!form.checkValidity()) return
    try {
      const response = await fetch("/?" + new URLSearchParams(new FormData(form)), { cache: "no-store", signal: AbortSignal.timeout(8000) })
      const part = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(out.id)
      if (mine !== asked) return
      if (!part) return location.reload() // the token is no longer good: the form asks for one
      out.replaceChildren(...part.childNodes)
      dress(out)
    } catch {
      if (mine === asked) out.replaceChildren(h("p", { className: "alert", textContent: "The daemon did not answer. Try again." }))
    }
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); void run() })
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(run, quiet) })
  return run
}

/** The values of the sliders: years are linear, the others powers of two. */
const scales = { years: [Number, Number], workers: [(v) => 2 ** v, Math.log2], rate: [(v) => Math.round(2 ** v), Math.log2] }

function wireSliders(form) {
  for (const slider of form.querySelectorAll("input[type=range]")) {
    const number = form.elements[slider.dataset.for]
    const [value, position] = scales[slider.dataset.for]
    const say = () => slider.setAttribute("aria-valuetext", grouped(number.value))
    const follow = () => { slider.value = String(position(Number(number.value) || 1)); say() }
    slider.addEventListener("input", () => { number.value = String(value(Number(slider.value))); say() })
    number.addEventListener("input", follow)
    follow()
  }
}

function wireMint(ask) {
  const form = $("mint-f")
  const { generator, count } = form.elements
  const write = () => {
    const values = { name: generator.value || "default", count: count.value || "1" }
    for (const place of $("snippets").querySelectorAll("var")) place.textContent = values[place.dataset.v] ?? place.textContent
    for (const section of $("snippets").querySelectorAll("section")) {
      section.querySelector(".copy")?.remove()
      section.append(copier(section.querySelector("code").textContent, `the ${section.dataset.tab} lines`))
    }
  }
  form.addEventListener("input", write)
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    try {
      const { ids } = await ask(`/v1/generators/${encodeURIComponent(generator.value)}/ids?count=${encodeURIComponent(count.value)}`, { method: "POST" })
      $("minted").replaceChildren(...ids.map((id) => h("li", {}, h("code", { textContent: id }), copier(id))))
    } catch (problem) {
      $("minted").replaceChildren(h("li", { className: "alert", textContent: problem.message }))
    }
  })
  write()
}

/** wireTools makes the three panels work. ask fetches JSON, and throws a problem's words. */
export function wireTools(ask) {
  dress(document)
  wireQuery($("decode-f"), $("decoded"))
  wireSliders($("plan-f"))
  void wireQuery($("plan-f"), $("planned"))()
  wireMint(ask)
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]")
    if (!button) return
    const say = (word) => {
      button.textContent = word
      setTimeout(() => (button.textContent = "Copy"), 1500)
    }
    if (!navigator.clipboard) return say("Not over http") // browsers allow it on loopback and with TLS
    navigator.clipboard.writeText(button.dataset.copy).then(() => say("Copied"), () => say("Denied"))
  })
}
