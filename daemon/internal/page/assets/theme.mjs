// The colours: the reader's setting, or the one chosen here. It runs before the first paint.
const kept = "snowfence-theme"
let theme = ""
try { theme = localStorage.getItem(kept) || "" } catch { /* storage is forbidden: a choice lasts as long as the page */ }
const show = () => (document.documentElement.dataset.theme = theme)
show()
document.documentElement.classList.add("scripted")

/** wireTheme makes the switch of the header choose the theme, and calls back when it did. */
export function wireTheme(changed) {
  for (const input of document.querySelectorAll("#theme input")) {
    input.checked = input.value === theme
    input.addEventListener("change", () => {
      theme = input.value
      try { localStorage.setItem(kept, theme) } catch { /* as above */ }
      show()
      changed()
    })
  }
}
