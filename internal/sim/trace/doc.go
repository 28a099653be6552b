// Package trace holds a run of the real code against the model of the protocol. It is a second
// opinion: it imports nothing of the code that it judges.
//
// The simulation writes the acts of its processes and stores as [Step] values. A [Model] takes these steps
// one after the other. It has the variables of formal/lease.pml under their names there, and
// the same guards. A step that no guard of the model allows is refused, with the guard in the words of
// lease.pml. The folder testdata has runs whose steps are told for people.
//
//	m := trace.NewModel(loss)
//	for each step: err := m.Take(step)
//
// # How a trace differs from the model
//
// In the model a step may be any that is possible. A trace has one, and the model says whether it was.
// These are the other differences:
//
//   - The model has one register. Here each worker id has its own, and a process that claims another
//     worker id is to the first register a process that crashed there, as formal/README.md says.
//   - A tick of the model is stamped or not. Here a term may stamp one several times, with other sequences.
//   - The model takes a holder's word that loss has passed. Here the holder's monotonic clock shows it.
//   - A read takes no time in the model. Here a write that was read may be lost before its reader
//     learns of it. In the model that is the step of a late acknowledgement.
//   - A release of the model brings until down as far as it may. Here it may stay higher.
//   - The model has no journal. A process that goes on with a page is held to "The journal" in docs/proof.md.
//
// Lent worker ids and operators' writes are not in the model. Nor are its limits: a clone, and a store
// that forgets more than it declares.
package trace
