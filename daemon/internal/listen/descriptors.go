package listen

const (
	// kept is how many file descriptors are kept from clients: for stores, files and the listener of operators.
	kept = 128 + operators

	// operators is how many connections the listener of operators has, whatever others do.
	operators = 64

	// leastConnections is how many connections there are for clients in any case.
	leastConnections = 16
)

// Connections returns how many of so many connections the process has file descriptors for.
func Connections(most int) int {
	limit, ok := descriptors()
	if !ok || limit >= uint64(most)+kept {
		return most
	}
	return int(max(limit, kept+leastConnections) - kept)
}
