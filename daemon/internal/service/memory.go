package service

import "snowfence.example/snowfence/daemon/kind"

const (
	// fewIDs are in an answer that takes no memory but what its connection has, or fewTexts.
	fewIDs, fewTexts = 100, 25

	// answerText is about how much text of an answer a front gathers before it writes.
	answerText = 64 << 10
)

// Hold takes the memory of an answer with n ids, before they are minted, and returns how much that is. The front
// gives it back by [Client.Release] when the answer is written. A [*Problem] is returned if there is none, or the client may not
// use the generator.
func (c *Client) Hold(name string, n int) (bytes int, err error) {
	if n <= fewTexts { // as most requests
		return 0, nil
	}
	s := c.service
	g, form := s.generators[name], s.Form(name)
	if n <= fewIDs && form != kind.Text || g == nil || n > s.limit(g) { // what is wrong is found when they are minted
		return 0, nil
	}
	if err := c.Admit(name, 0); err != nil {
		return 0, err
	}
	switch form {
	case kind.Text:
		bytes = (kind.MaxText + 8) * n
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
func (c *Client) Release(bytes int) { c.service.memory.Give(bytes) }
