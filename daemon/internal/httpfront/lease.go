package httpfront

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// claim answers with a worker id that the client borrows.
func (h *Handler) claim(w http.ResponseWriter, r *call) error {
	var form releaseJSON
	return h.lease(w, r, &form, &form.claimJSON, front.Use.Claim)
}

// extend answers with a later bound of a worker id.
func (h *Handler) extend(w http.ResponseWriter, r *call) error {
	var form releaseJSON
	return h.lease(w, r, &form, &form.extensionJSON, front.Use.Extend)
}

// giveBack ends a lease.
func (h *Handler) giveBack(w http.ResponseWriter, r *call) error {
	var form releaseJSON
	return h.lease(w, r, &form, &form, func(use front.Use, ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
		return kind.Lent{}, use.Release(ctx, f)
	})
}

// lease reads the body into the part of the form that the verb takes, and answers with the lease, if there is one then.
func (h *Handler) lease(w http.ResponseWriter, r *call, form *releaseJSON, part any, verb func(front.Use, context.Context, kind.LeaseForm) (kind.Lent, error)) error {
	if _, err := parameters(r.Request); err != nil {
		return err
	}
	use, err := r.client.Use(r.value("{name}"))
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(part); err != nil {
		return unreadable(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return unreadable(errors.New("something follows the object"))
	}
	lent, err := verb(use, r.Context(), kind.LeaseForm{
		Worker: r.value("{worker}"), Now: form.Now.String(), Host: form.Host, PID: form.PID.String(), Program: form.Program,
		Lease: form.Lease, Mark: form.Mark, Next: form.Next.String(), Open: form.Open,
	})
	if err != nil {
		return err
	}
	body := []byte("{}\n")
	if lent.Lease != "" {
		body = front.LeaseJSON(lent)
	}
	return h.writeBody(w, r.Request, http.StatusOK, typeJSON, body)
}

func unreadable(err error) error {
	reason := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "it ends too early"
	}
	return unexpectedBody("The request's body can not be read", "the body must be an object of JSON with the fields of docs/lending.md: "+reason)
}

// claimJSON is the body of a claim. Numbers may stand as texts.
type claimJSON struct {
	Now     json.Number `json:"now"`
	Host    string      `json:"host"`
	PID     json.Number `json:"pid"`
	Program string      `json:"program"`
}

// extensionJSON is the body of an extension.
type extensionJSON struct {
	claimJSON
	Lease string `json:"lease"`
	Mark  string `json:"mark"`
}

// releaseJSON is the body of a release.
type releaseJSON struct {
	extensionJSON
	Next json.Number `json:"next"`
	Open string      `json:"open"`
}
