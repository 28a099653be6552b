// Package drive runs the lease's step function: it takes events to the state, makes
// and extends the generator of its term, and hands on what concerns the store, the
// journal and people. Package fence runs it in a goroutine, the simulation and the
// model of a crowd in virtual time: what they show holds for the program because it
// is the same driver.
//
//	d := drive.New(config, shell)
//	d.Take(lease.Started{})
//	for each answer, and at d.Wake(): d.Take(event)
//
// It starts no goroutine and waits for nothing.
package drive
