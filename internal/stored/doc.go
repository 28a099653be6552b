// Package stored is what a store keeps of a namespace, and a journal of a term: the
// record of the namespace, the register of each worker id, the page of a holder. It says
// how they are written, at which keys, and how a register stands to one who would claim
// it. Package lease says when they are written.
//
//	ns/NAME/namespace       the record, a [Namespace]; it is written once
//	ns/NAME/worker/NUMBER   a [Register]; it is never deleted
//
// Values are JSON of one exact form. A value that this program would not write byte for
// byte, but for blanks, is refused, so nothing is taken for zero because it was not
// understood. A program that changes what a value means counts its format up.
package stored
