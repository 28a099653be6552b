// Package drive runs the lease's step function. It takes events to the state, makes and
// extends the generator of its term, and passes on the requests to the store, the journal
// and people. Package fence runs it in a goroutine. The simulation and the model of a crowd
// run the same driver in virtual time. So their results hold for the program too.
//
//	d := drive.New(config, shell)
//	d.Take(lease.Started{})
//	for each answer, and at d.Wake(): d.Take(event)
//
// A [Driver] neither starts goroutines nor waits. [Disk] and [Recall] do, for programs
// that run it in a goroutine; virtual time needs neither, so package fence's tests
// hold them. [Patience] waits too, for operators.
package drive
