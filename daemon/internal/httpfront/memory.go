package httpfront

import (
	"net/http"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
)

// writeMade writes an answer that was made for this request alone. A large one takes memory until its client has read it.
func (h *Handler) writeMade(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) error {
	held := share{memory: h.Memory}
	defer held.release()
	if cap(body) > few {
		if err := held.hold(cap(body)); err != nil {
			return err
		}
	}
	return h.writeBody(w, r, status, contentType, body)
}

// share is the memory of one answer.
type share struct {
	memory *budget.Budget
	bytes  int
}

// release gives the share back.
func (s *share) release() { s.memory.Give(s.bytes) }

// hold changes the share to a number of bytes. A problem is returned if too little memory is left.
func (s *share) hold(bytes int) error {
	if s.memory.Take(bytes-s.bytes) != nil {
		return front.Overloaded.Problem(nil)
	}
	s.memory.Give(s.bytes - bytes)
	s.bytes = bytes
	return nil
}
