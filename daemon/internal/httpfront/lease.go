package httpfront

import (
	"bytes"
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
	var form claimJSON
	use, err := h.lease(r, &form)
	if err != nil {
		return err
	}
	lent, err := use.Claim(r.Context(), form.texts())
	return h.answerLease(w, r, lent, err)
}

// extend answers with a later bound of a worker id.
func (h *Handler) extend(w http.ResponseWriter, r *call) error {
	var form extensionJSON
	use, err := h.lease(r, &form)
	if err != nil {
		return err
	}
	texts := form.texts()
	texts.Worker = r.value("{worker}")
	lent, err := use.Extend(r.Context(), texts)
	return h.answerLease(w, r, lent, err)
}

// giveBack ends a lease.
func (h *Handler) giveBack(w http.ResponseWriter, r *call) error {
	var form releaseJSON
	use, err := h.lease(r, &form)
	if err != nil {
		return err
	}
	texts := form.texts()
	texts.Worker = r.value("{worker}")
	if err := use.Release(r.Context(), texts); err != nil {
		return err
	}
	return h.writeBody(w, r.Request, http.StatusOK, typeJSON, []byte("{}\n"))
}

func (h *Handler) answerLease(w http.ResponseWriter, r *call, lent kind.Lent, err error) error {
	if err != nil {
		return err
	}
	return h.writeBody(w, r.Request, http.StatusOK, typeJSON, front.LeaseJSON(lent))
}

// lease reads the body into a form, looks whether JSON is taken as an answer, and finds the generator.
func (h *Handler) lease(r *call, form any) (front.Use, error) {
	if _, err := parameters(r.Request); err != nil {
		return nil, err
	}
	if _, err := negotiate(r.Request, typeJSON); err != nil {
		return nil, err
	}
	use, err := r.client.Use(r.value("{name}"))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(form); err != nil {
		return nil, unreadable(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, unreadable(errors.New("something follows the object"))
	}
	return use, nil
}

func unreadable(err error) error {
	reason := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "it ends too early"
	}
	return &problem{
		Status: http.StatusBadRequest, Type: typeUnexpectedBody, Title: "The request's body can not be read",
		Detail: "the body must be an object of JSON with the fields of docs/lending.md: " + reason, Field: "body",
	}
}

// borrowerJSON are the fields of a borrower. Numbers may stand as texts.
type borrowerJSON struct {
	Now     json.Number `json:"now"`
	Host    string      `json:"host"`
	PID     json.Number `json:"pid"`
	Program string      `json:"program"`
}

func (b borrowerJSON) texts() kind.LeaseForm {
	return kind.LeaseForm{Now: b.Now.String(), Host: b.Host, PID: b.PID.String(), Program: b.Program}
}

// claimJSON is the body of a claim.
type claimJSON struct{ borrowerJSON }

// extensionJSON is the body of an extension.
type extensionJSON struct {
	borrowerJSON
	Lease string `json:"lease"`
	Mark  string `json:"mark"`
}

func (e extensionJSON) texts() kind.LeaseForm {
	form := e.borrowerJSON.texts()
	form.Lease, form.Mark = e.Lease, e.Mark
	return form
}

// releaseJSON is the body of a release.
type releaseJSON struct {
	extensionJSON
	Next json.Number `json:"next"`
	Open string      `json:"open"`
}

func (r releaseJSON) texts() kind.LeaseForm {
	form := r.extensionJSON.texts()
	form.Next, form.Open = r.Next.String(), r.Open
	return form
}
