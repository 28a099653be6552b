package service

import (
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

const (
	// fewIDs, or fewTexts, fit into the memory that their connection has already.
	fewIDs, fewTexts = 100, 25

	// answerText is about how much text of an answer a front gathers before it writes.
	answerText = 64 << 10
)

// Hold implements [front.Use].
func (u *Use) Hold(n int) (bytes int, err error) {
	form := u.Form()
	if n <= fewTexts || n <= fewIDs && form != kind.Text || n > u.Most() { // minting finds a wrong number
		return 0, nil
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
	if u.client.service.memory.Take(bytes) != nil {
		return 0, u.problem(front.Overloaded.Problem(nil))
	}
	return bytes, nil
}

// Release implements [front.Client].
func (c *Client) Release(bytes int) { c.service.memory.Give(bytes) }
