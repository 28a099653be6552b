package service

import "snowfence.example/snowfence/kind"

const (
	// fewIDs are in an answer that takes no memory but what its connection has.
	fewIDs = 100

	// answerText is about how much text of an answer a front gathers before it writes.
	answerText = 64 << 10
)

// Hold takes the memory of an answer with n ids, before they are minted, and returns how much that is. The front
// gives it back by [Service.Release] when the answer is written. A [*Problem] is returned if there is none.
func (s *Service) Hold(name string, n int) (bytes int, err error) {
	g := s.generators[name]
	if n <= fewIDs || g == nil || n > s.limit(g) { // what is wrong is found when they are minted
		return 0, nil
	}
	switch s.Form(name) {
	case kind.Text:
		bytes = 64 * n // most texts have half of that
	case kind.Wide:
		bytes = 16 * n
	default:
		bytes = 8 * n
	}
	bytes += min(answerText, 40*n)
	if s.memory.Take(bytes) != nil {
		return 0, s.problem(g, Overloaded.problem(nil))
	}
	return bytes, nil
}

// Release gives back what Hold has returned.
func (s *Service) Release(bytes int) { s.memory.Give(bytes) }

// Hold is [Service.Hold].
func (c *Client) Hold(name string, n int) (bytes int, err error) { return c.service.Hold(name, n) }

// Release is [Service.Release].
func (c *Client) Release(bytes int) { c.service.Release(bytes) }
