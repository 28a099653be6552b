// Package counter gives numbers that a store counts. Each caller gets its own,
// whatever crashes, lost replies and failovers do.
//
//	segments, err := counter.OpenSegments(ctx, counter.SegmentsConfig{Config: counter.Config{Store: s, Name: "users"}})
//	id, err := segments.Next(ctx)
//	err = segments.Close(ctx)
//
// Three kinds count in a register of any [store.Store]:
//
//   - [Segments] are reserved in bulk, ahead of the demand. A number costs nanoseconds. Numbers of
//     several processes are mixed, and a crash leaves a gap.
//   - [Tickets] strictly increase over all processes. Each costs a swap, shared by the callers
//     that wait. They need a durable store.
//   - [Daily] is a prefix, a date and a number that begins again each day.
//
// [NewSegments] and [NewTickets] take the numbers of any other [Source], such as the table of
// another system.
//
// # Why no number is given twice
//
// A reservation is a swap of the counter's register, guarded by the version from which it was
// computed. So of two reservations of the same numbers one fails. The outcome of a swap is
// settled before its numbers are used: it took effect if the register shows its very bytes. A
// reservation that is given up may still take effect. Then its numbers are a gap.
//
// On a lossy store a failover may take a reservation back, and the numbers would be reserved
// again. So they are used only after another swap has confirmed them: one that was sent when the
// store could not lose the reservation any more, and whose guard has it in its history.
//
// # What is not promised
//
// A store that forgets more than it declares repeats numbers, as does a dump that is restored. A
// process notices that for the numbers that it has reserved itself, with a *[BackwardsError]. With
// a [Guard] it notices that for all numbers that the guard knows.
package counter
