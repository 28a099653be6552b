// Package stored has the records of a namespace: its own record, the register of each
// worker id, and the page of a holder's journal. It decides how they are written, at which
// keys, and whether a register may be claimed. Package lease decides when they are written.
//
//	ns/NAME/namespace       the record, a [Namespace]; it is written once
//	ns/NAME/worker/NUMBER   a [Register]; it is never deleted
//
// Values are JSON of one exact form. A value is refused unless this program would write the
// same bytes, but for blanks. So a value that was not understood is an error, and not zero. A
// program that changes the meaning of a value writes a greater format.
package stored
