package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// mostBatch is tinyid's own limit of a batch.
const mostBatch = 100_000

// tinyResponse is tinyid's JSON.
type tinyResponse struct {
	Data    any    `json:"data"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// tinySegment is a segment for a client to count in: from the first number above CurrentID that leaves
// Remainder by Delta, up to MaxID. From LoadingID on the client asks for the next.
type tinySegment struct {
	MaxID     int64 `json:"maxId"`
	LoadingID int64 `json:"loadingId"`
	CurrentID int64 `json:"currentId"`
	Delta     int64 `json:"delta"`
	Remainder int64 `json:"remainder"`
}

// TinyIDs answers with a batch, in JSON.
func TinyIDs(r *http.Request, client front.Client) (Answer, error) {
	ids, err := batch(r, client)
	return tiny(json.RawMessage("["+ids+"]"), err)
}

// TinyIDsSimple answers with a batch, separated by commas.
func TinyIDsSimple(r *http.Request, client front.Client) (Answer, error) {
	ids, err := batch(r, client)
	return simple(r, client, []byte(ids), err)
}

// TinySegment answers with a whole segment, in JSON.
func TinySegment(r *http.Request, client front.Client) (Answer, error) {
	s, err := segment(r, client)
	return tiny(s, err)
}

// TinySegmentSimple answers with a whole segment, separated by commas.
func TinySegmentSimple(r *http.Request, client front.Client) (Answer, error) {
	s, err := segment(r, client)
	return simple(r, client, fmt.Appendf(nil, "%d,%d,%d,%d,%d", s.CurrentID, s.LoadingID, s.MaxID, s.Delta, s.Remainder), err)
}

// tiny is a response with data or an error.
func tiny(data any, err error) (Answer, error) {
	p := new(front.Problem)
	switch {
	case err == nil:
		return jsonOf(http.StatusOK, tinyResponse{data, http.StatusOK, ""}), nil
	case !errors.As(err, &p), p.Type.Meaning() == front.TooMany:
		return Answer{}, err
	case ours(p):
		return jsonOf(http.StatusOK, tinyResponse{nil, 5, "token is error"}), err
	}
	return jsonOf(http.StatusOK, tinyResponse{nil, 6, p.Detail}), err
}

// simple is a bare answer, empty where tiny has an error. Its client can't see the reason, so the log has it.
func simple(r *http.Request, client front.Client, body []byte, err error) (Answer, error) {
	if err != nil {
		a, err := tiny(nil, err)
		if a.Status != 0 {
			name := parameters(r).Get("bizType")
			client.Warn("a client of tinyid gets an empty answer with status 200", "generator", name[:min(len(name), 128)], "error", err)
		}
		return Answer{a.Status, typeOf(r), nil}, err
	}
	return plain(r, body), nil
}

// using returns the parameters of a client whose token is right, and its generator.
func using(r *http.Request, client front.Client) (url.Values, front.Use, error) {
	query := parameters(r)
	if err := client.Authorize(query.Get("token")); err != nil {
		return nil, nil, err
	}
	use, err := client.Use(query.Get("bizType"))
	return query, use, err
}

// batch mints the requested number of ids, or the most that it may, and separates them by commas.
func batch(r *http.Request, client front.Client) (string, error) {
	query, use, err := using(r, client)
	if err != nil {
		return "", err
	}
	name, n := query.Get("bizType"), 1
	if text := query.Get("batchSize"); text != "" {
		if n, err = strconv.Atoi(text); err != nil {
			return "", use.InvalidCount(text)
		}
	}
	if use.Form() != kind.Number && use.Form() != 0 {
		return "", &front.Problem{Type: front.UnknownGenerator, Detail: fmt.Sprintf("bizType %s mints %s ids, must mint numbers", name, use.Form())}
	}
	if most := min(mostBatch, use.Most()); n > most {
		client.Warn("a client of tinyid gets fewer numbers than it asks for: see limits.batch", "generator", name, "asked", n, "given", most)
		n = most
	}
	held, err := use.Hold(n)
	if err != nil {
		return "", err
	}
	defer client.Release(held)
	var b kind.Batch
	err = use.Mint(r.Context(), n, &b)
	var text []byte
	for id := range b.Texts() { // each is valid until the next
		text = append(append(text, id...), ',')
	}
	return string(bytes.TrimSuffix(text, []byte(","))), err
}

// segment reserves a whole segment.
func segment(r *http.Request, client front.Client) (tinySegment, error) {
	_, use, err := using(r, client)
	if err != nil {
		return tinySegment{}, err
	}
	got, err := use.Segment(r.Context())
	if err != nil {
		return tinySegment{}, err
	}
	return segmentOf(got.First, got.Last(), got.Increment), nil
}

// segmentOf describes the numbers from first to last as tinyid does. Its clients load the next segment when
// a fifth is used.
func segmentOf(first, last, delta int64) tinySegment {
	before := max(first-delta, 0) // tinyid has no negative number
	return tinySegment{MaxID: last, LoadingID: before + (last-before)/5, CurrentID: before, Delta: delta, Remainder: first % delta}
}
