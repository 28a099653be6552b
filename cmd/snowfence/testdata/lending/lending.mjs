// What the tests of the JavaScript client run: lending.mjs CLIENT vectors FILE, or talk GENERATOR MILLISECONDS URL...
import { readFileSync } from "node:fs"

const [client, verb, ...rest] = process.argv.slice(2)
const { Gone, Held, SnowfenceError, open } = await import(client)

function vectors(path) {
  for (const { name, steps } of JSON.parse(readFileSync(path)).cases) {
    const state = {}
    steps.forEach((step, number) => {
      const [got, want] = play(state, step)
      if (got !== want) throw new Error(`${name}, step ${number}: ${got}, want ${want}`)
      console.log(name, step.do)
    })
  }
}

/** Returns what comes of a step, and what is to come of it. */
function play(state, step) {
  const { held } = state
  switch (step.do) {
    case "claim":
      return [outcome(SnowfenceError, () => (state.held = new Held(step.answer, step.sent_ms, step.came_ms))), step.outcome]
    case "extend": case "again":
      return [held.extend(step.sent_ms, step.mark), undefined]
    case "gone": case "release": // the client forgets the lease
      held.left = true
      return [step.tick && String(held.nextTick()), step.tick]
    case "answer":
      if (held.left) return ["ignored", step.outcome]
      return [outcome(Gone, () => held.answered(step.answer, step.came_ms)), step.outcome]
    case "stamp": {
      held.random = () => BigInt(step.random)
      let ids
      for (let i = step.times ?? 1; i > 0; i--) ids = held.stamp(step.wall_ms * 1000, 1)
      return [ids.length ? String(ids[0]) : null, step.id]
    }
    case "due":
      return [held.due(), step.at_ms]
  }
  return [String(held.nextTick()), step.tick]
}

function outcome(refusal, take) {
  try {
    return take() ? "taken" : "ignored"
  } catch (problem) {
    if (problem instanceof refusal) return "refused"
    throw problem
  }
}

async function talk(generator, milliseconds, ...urls) {
  const ids = open(urls, generator, { program: "talk" })
  const got = await ids.fill(5000, 30000)
  for (let i = 0; i < 5000; i++) got.push(await ids.nextText())
  for (const end = performance.now() + Number(milliseconds); performance.now() < end; ) {
    got.push(await ids.next(30000))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  console.log(got.join("\n"))
} // the end of the program gives the worker id back

await { vectors, talk }[verb](...rest)
