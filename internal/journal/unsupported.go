//go:build !(linux || darwin)

package journal

// Without flock, a number of this run of the operating system, and the time at
// which the file system saw a file change, the journal can't keep its promises:
// it does not open.
func thisPlace() (Place, error) { return Place{}, ErrUnsupported }
