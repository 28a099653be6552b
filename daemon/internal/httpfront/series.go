package httpfront

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// reservationJSON is a number of a series in an answer.
type reservationJSON struct {
	Number string `json:"number"`
	ID     string `json:"id"`
	State  string `json:"state"`

	Token string     `json:"token,omitempty"` // of a new reservation, with until
	Until *time.Time `json:"until,omitempty"`

	Reason  string     `json:"reason,omitempty"` // of a void number
	Changed *time.Time `json:"changed,omitempty"`
}

// reservations reserves for a POST, and lists for a GET.
func (h *Handler) reservations(w http.ResponseWriter, r *call) error {
	if r.Method == http.MethodPost {
		return h.reserve(w, r)
	}
	return h.audit(w, r)
}

// reserve answers with a number that the client is to confirm or to void.
func (h *Handler) reserve(w http.ResponseWriter, r *call) error {
	query, of, err := seriesQuery(r, "tenant", "timeout")
	if err != nil {
		return err
	}
	var timeout time.Duration
	if text := query.Get("timeout"); query.Has("timeout") {
		if timeout, err = time.ParseDuration(text); err != nil || timeout <= 0 {
			return invalidQuery("timeout", text, "must be a duration above 0 such as 30s or 10m")
		}
	}
	got, err := of.Reserve(r.Context(), query.Get("tenant"), timeout)
	if err != nil {
		return err
	}
	return h.writeJSON(w, r.Request, http.StatusOK, typeJSON, reservationJSON{
		Number: strconv.FormatInt(got.Number, 10), ID: got.Text, State: "reserved", Token: got.Token, Until: &got.Until,
	})
}

// confirm ends a reservation whose document exists.
func (h *Handler) confirm(w http.ResponseWriter, r *call) error {
	return h.end(w, r, "confirmed", []string{"tenant", "token"}, func(of kind.Series, query url.Values, number int64) error {
		return of.Confirm(r.Context(), query.Get("tenant"), number, query.Get("token"))
	})
}

// void ends a reservation whose document will never exist.
func (h *Handler) void(w http.ResponseWriter, r *call) error {
	return h.end(w, r, "void", []string{"tenant", "token", "reason"}, func(of kind.Series, query url.Values, number int64) error {
		return of.Void(r.Context(), query.Get("tenant"), number, query.Get("token"), query.Get("reason"))
	})
}

// end ends the reservation of the number in the path.
func (h *Handler) end(w http.ResponseWriter, r *call, state string, known []string, verb func(kind.Series, url.Values, int64) error) error {
	query, of, err := seriesQuery(r, known...)
	if err != nil {
		return err
	}
	text := r.value("{number}")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return invalidQuery("number", text, "must be a whole number, 0 or more")
	}
	if err := verb(of, query, number); err != nil {
		return err
	}
	return h.writeJSON(w, r.Request, http.StatusOK, typeJSON, reservationJSON{
		Number: strconv.FormatInt(number, 10), ID: of.Text(number), State: state, Reason: query.Get("reason"),
	})
}

// audit answers with every number of a series. It is written as it is read: when the database fails in
// the middle, the connection breaks, so clients can't mistake a part for the whole.
func (h *Handler) audit(w http.ResponseWriter, r *call) error {
	query, of, err := seriesQuery(r, "tenant")
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		h.setContentType(w, typeJSON)
		return nil // the table is not read for it
	}
	begin := `{"reservations":[`
	for e, err := range of.Audit(r.Context(), query.Get("tenant")) {
		switch {
		case err != nil && begin[0] == '{':
			return err
		case err != nil:
			panic(http.ErrAbortHandler) //nolint:forbidigo // the only way of net/http to break the connection
		}
		entry := reservationJSON{Number: strconv.FormatInt(e.Number, 10), ID: of.Text(e.Number), State: e.State, Reason: e.Reason}
		if !e.Changed.IsZero() {
			entry.Changed = &e.Changed
		}
		body, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		h.setContentType(w, typeJSON)
		if _, err := w.Write(append([]byte(begin), body...)); err != nil {
			return nil // the client is gone
		}
		begin = ","
	}
	if begin[0] == '{' {
		h.setContentType(w, typeJSON)
		_, _ = w.Write([]byte(begin))
	}
	_, _ = w.Write([]byte("]}\n")) // it fails only when the client is gone
	return nil
}

// seriesQuery reads the parameters, and finds the series.
func seriesQuery(r *call, known ...string) (url.Values, kind.Series, error) {
	query, err := parameters(r.Request, known...)
	if err != nil {
		return nil, nil, err
	}
	use, err := r.client.Use(r.value("{name}"))
	if err != nil {
		return nil, nil, err
	}
	of, err := use.Series()
	return query, of, err
}

func invalidQuery(field, value, limit string) error {
	value = front.Shown(value)
	return wrongQuery(field+" is "+strconv.Quote(value)+": "+limit, field, value, limit)
}

func wrongQuery(detail, field, value, limit string) error {
	return &problem{
		Status: http.StatusBadRequest, Type: typeInvalidQuery, Title: "The query can not be used",
		Detail: detail, Field: field, Value: value, Limit: limit,
	}
}
