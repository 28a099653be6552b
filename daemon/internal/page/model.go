package page

import (
	"context"
	"net/url"
	"time"

	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/internal/decode"
)

// Source is where the page has its numbers from. It is safe for concurrent use, and takes one snapshot for all readers.
type Source interface {
	State(ctx context.Context) view.State
	History() view.History

	// Workers returns the registers of the worker ids from one number up to and with another.
	Workers(ctx context.Context, store, namespace string, from, to int64) ([]view.Worker, error)
}

// Model is the data of assets/index.html.
type Model struct {
	State   view.State
	History view.History
	Decoded *Decoded   // of the query's id and generator; nil without an id
	Plan    *Plan      // of the query's years, workers and rate; nil if all three are missing
	Query   url.Values // as it was asked: {{.Query.Get "id"}}
	Address string     // of the page: http://127.0.0.1:7600
	Signed  bool       // the reader has shown a token; a POST of an empty one to /ui/token forgets it
	RESP    string     // the host and port of the RESP front, or empty
	Public  bool       // POST /v1/generators/NAME/ids is answered at Address
}

// Login is the data of assets/login.html. Its form posts token to /ui/token.
type Login struct {
	Reason string // why the token was refused; empty before a token was shown
}

// Decoded is an id, bit by bit. Its JSON is the answer of /ui/decode.
type Decoded struct {
	Text  string `json:"text"`            // as it was given
	Error string `json:"error,omitempty"` // of the page alone, where the view answers a problem; all else is empty
	decode.Document
	WorkerID *int64   `json:"worker_id,omitempty"` // with the datacenter; nil without a layout
	Relative string   `json:"relative,omitempty"`
	Others   []string `json:"others,omitempty"` // generators whose id the text may be just as well
	Owners   []Owner  `json:"owners"`           // by namespace: whose it may be

	weight int // how much the reading shows
}

// Owner shows whose an id may be, by the register of its worker id in one namespace.
type Owner struct {
	Store     string      `json:"store"`
	Namespace string      `json:"namespace"`
	Covers    bool        `json:"covers"`          // the register's term has the tick
	Worker    view.Worker `json:"register"`        // the zero value if Error is set
	Text      string      `json:"text"`            // one sentence
	Error     string      `json:"error,omitempty"` // why the register could not be read
}

// Plan divides the bits of an id. Its JSON is the answer of /ui/plan.
type Plan struct {
	Years   float64  `json:"years"`           // as it was asked, or the default
	Workers float64  `json:"workers"`         // worker ids
	Rate    float64  `json:"rate"`            // ids a second of each worker
	Error   string   `json:"error,omitempty"` // of the page alone, where the view answers a problem; all below is empty
	Fits    []Fit    `json:"fits"`            // the best first
	Misfits []Misfit `json:"misfits"`         // units of time that don't
}

// Fit is a layout that meets the query.
type Fit struct {
	Layout   string         `json:"layout"` // for the configuration
	Widths   string         `json:"widths"` // without the epoch
	Fields   []decode.Field `json:"fields"` // without values
	Years    float64        `json:"years"`
	Ends     time.Time      `json:"ends,omitzero"`
	Workers  string         `json:"workers"`
	PerTick  string         `json:"ids_per_tick"`
	EachRate float64        `json:"worker_rate"`
	Rate     float64        `json:"rate"` // of all workers
}

// Misfit is a layout that does not meet the query.
type Misfit struct {
	Name   string         `json:"name"` // a unit of time
	Widths string         `json:"widths"`
	Fields []decode.Field `json:"fields"`
	Why    string         `json:"why"`
}
