package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// Answer is an answer in another system's form. Its status is 0 if that system lacks such an answer.
type Answer struct {
	Status int
	Type   string // of the content
	Body   []byte
}

// Answerer answers a request. An error beside an answer is counted; without one it is answered as
// the HTTP front does.
type Answerer func(*http.Request, front.Client) (Answer, error)

// parameters are the parameters of the query, and then of a form that the front has read.
func parameters(r *http.Request) url.Values {
	all := r.URL.Query()
	for name, values := range r.PostForm {
		all[name] = append(all[name], values...)
	}
	return all
}

// charset ends every type, as in Spring Boot 1.5.
const (
	charset  = ";charset=UTF-8"
	jsonType = "application/json" + charset
)

// plain is an answer without a form of its own, such as a bare number. Spring gives it the type that was asked for,
// and the same body whatever that is.
func plain(r *http.Request, body []byte) Answer { return Answer{http.StatusOK, typeOf(r), body} }

// typeOf returns the type that a client asks for: by .json at the end of the path, or else by the type that Accept
// likes best, of equal ones the first. Text is for a client that takes everything.
func typeOf(r *http.Request) string {
	if file, _, _ := strings.Cut(path.Base(r.URL.Path), ";"); strings.HasSuffix(file, ".json") {
		return jsonType
	}
	return front.Preferred(r.Header["Accept"], "text/plain") + charset
}

// jsonOf is an answer in JSON. The value always makes some.
func jsonOf(status int, value any) Answer {
	body, _ := json.Marshal(value) //nolint:errchkjson // of strings and numbers
	return Answer{status, jsonType, body}
}

// Codes of Leaf's Result.
const (
	notReady   = -1
	unknownKey = -2
	noNumbers  = -3
)

// LeafSnowflake answers with an id of a generator of kind snowflake.
func LeafSnowflake(r *http.Request, client front.Client) (Answer, error) {
	return leaf(r, client, true)
}

// LeafSegment answers with a number of a generator that counts.
func LeafSegment(r *http.Request, client front.Client) (Answer, error) {
	return leaf(r, client, false)
}

func leaf(r *http.Request, client front.Client, snowflake bool) (Answer, error) {
	key := r.PathValue("key")
	names := []string{key}
	if i := strings.LastIndexByte(key, '.'); i > 0 {
		names = append(names, key[:i]) // Spring takes any suffix
	}
	if snowflake && key != "" {
		names = append(names, config.AnyKey)
	}
	batch, err := one(r, client, key, snowflake)
	for _, name := range names[1:] {
		if !nameless(err) {
			break
		}
		if other, otherErr := one(r, client, name, snowflake); !nameless(otherErr) {
			batch, err = other, otherErr
		}
	}
	switch p := new(front.Problem); {
	case err == nil:
		return plain(r, batch.AppendID(nil, 0)), nil
	case !errors.As(err, &p), ours(p):
		return Answer{}, err
	case key == "":
		return leafFault(r, client, http.StatusInternalServerError, "NoKeyException", "Key is none"), err
	default:
		return leafFault(r, client, http.StatusInternalServerError, "LeafServerException", fmt.Sprintf("Result{id=%d, status=EXCEPTION}", code(p.Type))), err
	}
}

// nameless reports whether the client lacks a generator of that name.
func nameless(err error) bool {
	p := new(front.Problem)
	return errors.As(err, &p) && (p.Type == front.UnknownGenerator || p.Type == front.NotAllowed)
}

// one mints a number of a generator of kind snowflake, or of one that counts.
func one(r *http.Request, client front.Client, name string, snowflake bool) (*kind.Batch, error) {
	use, err := client.Use(name)
	if err != nil {
		return nil, err
	}
	if (use.Kind() == config.KindSnowflake) != snowflake || use.Form() != kind.Number && use.Form() != 0 {
		return nil, &front.Problem{Type: front.UnknownGenerator, Detail: fmt.Sprintf("generator %s is of kind %s, which %s does not serve", name, use.Kind(), r.URL.Path)}
	}
	batch := new(kind.Batch)
	return batch, use.Mint(r.Context(), 1, batch)
}

// ours reports whether a problem is one that neither Leaf nor tinyid knows.
func ours(p *front.Problem) bool {
	switch p.Type.Meaning() {
	case front.Unauthorized, front.Forbidden, front.TooMany:
		return true
	}
	return false
}

// code returns Leaf's code of a problem.
func code(of front.Type) int {
	switch of {
	case front.UnknownGenerator:
		return unknownKey
	case front.Starting, front.Refused, front.Standby, front.Stopped, front.LeaseUnavailable:
		return notReady
	}
	return noNumbers
}

// leafError is an error as the framework of Leaf's server writes it.
type leafError struct {
	Timestamp int64  `json:"timestamp"`
	Status    int    `json:"status"`
	Error     string `json:"error"`
	Exception string `json:"exception"`
	Message   string `json:"message"`
	Path      string `json:"path"`
}

func leafFault(r *http.Request, client front.Client, status int, exception, message string) Answer {
	return jsonOf(status, leafError{
		client.Now().UnixMilli(), status, http.StatusText(status),
		"com.sankuai.inf.leaf.server.exception." + exception, message, front.Shown(r.URL.Path),
	})
}

// LeafDecode answers with the parts of an id, by the layout that all generators share. Leaf writes the time
// in its server's zone, too.
func LeafDecode(r *http.Request, client front.Client) (Answer, error) {
	layout, parts, err := client.Parts(parameters(r).Get("snowflakeId"))
	p := new(front.Problem)
	switch {
	case err == nil:
		at := layout.TimeOf(parts.Tick)
		return jsonOf(http.StatusOK, map[string]string{
			"timestamp":  fmt.Sprintf("%d(%s)", at.UnixMilli(), at.Local().Format("2006-01-02 15:04:05.000")),
			"workerId":   strconv.FormatInt(parts.Datacenter<<layout.Bits(snowfence.Worker)|parts.Worker, 10),
			"sequenceId": strconv.FormatInt(parts.Sequence, 10),
		}), nil
	case errors.As(err, &p) && !ours(p):
		return jsonOf(http.StatusOK, map[string]string{"errorMsg": p.Detail}), err
	}
	return Answer{}, err
}
