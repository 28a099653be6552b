// Package trace holds a run of the real code against the model of the protocol. It is a second
// opinion: it imports nothing of the code that it judges.
//
// The simulation writes the acts of its processes and stores as [Step] values. A [Model] takes these steps
// one after the other. It has the variables of formal/lease.pml under their names there. It refuses a step that
// breaks a guard, and names the guard in the words of lease.pml, or of "The journal" in docs/proof.md. It tests no
// part of a guard that it does not name. The folder testdata has runs whose steps are described for people.
//
//	m := trace.NewModel(loss)
//	for each step: err := m.Take(step)
//
// # How a trace differs from the model
//
// In the model a step may be any that is possible. A trace has one, and the model decides whether it was.
// These are the other differences:
//
//   - The model has one register. Here each worker id has its own, and a process that claims another
//     worker id is to the first register a process that crashed there, as formal/README.md explains.
//   - A tick of the model is stamped or not. Here a term may stamp one several times, with other sequences.
//   - In the model a node chooses freely at which extension loss has passed. Here the holder's monotonic clock
//     shows it.
//   - A read takes no time in the model. Here a write that was read may be lost before its reader
//     learns of it. In the model that is the step of a late acknowledgement.
//   - No node of the model extends or releases under a version that a failover took. Here a holder may: it does not
//     know of the failover, and such a write never takes effect.
//   - A node of the model forgets its term before it claims again. Here a claim is enough, as long as no
//     generator has begun.
//   - A generator of the model may stamp below each usable bound. Here it also waits for the step [Use]. So a step that
//     the model lacks, such as the second reading of the record, may come before.
//   - A release of the model brings until down as far as it may. Here it may stay higher.
//   - The model has no journal. Here a process may resume a term, by the rules of "The journal": not at a tick below a
//     bound that a generator of the term was given, not after a release that lowers until, and with a
//     confirmed bound. The age of a page's bound is taken from the page.
//
// Neither has lent worker ids, operators' writes, the record, the sequence and counters. Nor has a trace the limits: a
// clone, a store that forgets more than it declares or begins to lose, two machines with one journal.
package trace
