// Package engine describes the engines of stores without their client libraries: one table has the
// schemes of their URLs, the keys that may be shown, and the traits of the store. Package openstore
// parses the URLs in full and opens the stores.
package engine

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Engine describes an engine.
type Engine struct {
	Schemes  []string      // of its URLs, in lower case; the first one names it
	Like     string        // how its URLs begin, for messages
	Keys     string        // of its URLs' queries; their values are not secret
	Private  bool          // the store is of this process alone
	Local    bool          // the store works without a server
	Loss     time.Duration // by which a store is lossy unless its URL sets another loss; 0 if it is durable
	Clock    bool          // the engine has a clock of its own
	Database bool          // its URLs can name a database of ids, too
}

// Table lists the engines. Package openstore opens their stores.
func Table() []Engine {
	const (
		server  = "user password-file tls ca cert key loss "
		tables  = server + "durable table"
		sqlLoss = 15 * time.Second
	)
	return []Engine{
		{Schemes: []string{"file"}, Like: "file:DIRECTORY", Local: true},
		{Schemes: []string{"mem"}, Like: "mem://", Private: true, Local: true},
		{Schemes: []string{"etcd", "etcds"}, Like: "etcd://", Keys: server},
		{Schemes: []string{"zookeeper"}, Like: "zookeeper://", Keys: server},
		{
			Schemes: []string{"redis", "rediss"}, Like: "redis://, rediss://", Clock: true, Loss: 15 * time.Second,
			Keys: server + "prefix durable noeviction replicated sentinel sentinel-user sentinel-password-file",
		},
		{Schemes: []string{"postgres", "postgresql"}, Like: "postgres://", Clock: true, Database: true, Keys: tables, Loss: sqlLoss},
		{Schemes: []string{"mysql", "mariadb"}, Like: "mysql://", Clock: true, Database: true, Keys: tables, Loss: sqlLoss},
		{
			Schemes: []string{"nats"}, Like: "nats://", Loss: 150 * time.Second,
			Keys: server + "prefix replicas durable creds",
		},
		{Schemes: []string{"kubernetes"}, Like: "kubernetes:///", Keys: "prefix kubeconfig context loss durable"},
	}
}

// URLError is returned for a URL that does not name a store.
type URLError struct {
	URL    string // redacted
	Reason string // the form of a valid URL
}

func (e *URLError) Error() string { return fmt.Sprintf("store URL %q: %s", e.URL, e.Reason) }

// Class is [snowfence.ClassUsage].
func (*URLError) Class() snowfence.Class { return snowfence.ClassUsage }

// Of returns the engine of a URL's scheme, or the zero Engine and a *[URLError].
func Of(storeURL string) (Engine, error) {
	scheme, _, ok := strings.Cut(storeURL, ":")
	reason := "must begin with a scheme"
	if ok {
		if e, known := ofScheme(scheme); known {
			return e, nil
		}
		reason = "unknown scheme"
	}
	return Engine{}, &URLError{Redact(storeURL), reason + "; supported are " + Supported()}
}

func ofScheme(scheme string) (e Engine, ok bool) {
	all := Table()
	i := slices.IndexFunc(all, func(e Engine) bool { return slices.Contains(e.Schemes, strings.ToLower(scheme)) })
	if i < 0 {
		return Engine{}, false
	}
	return all[i], true
}

// Check returns a *[URLError] unless the URL has the scheme of an engine.
func Check(storeURL string) error {
	_, err := Of(storeURL)
	return err
}

// Supported lists how the URLs of stores begin, separated by commas.
func Supported() string {
	var like []string
	for _, e := range Table() {
		like = append(like, e.Like)
	}
	return strings.Join(like, ", ")
}

// Private reports whether the store that the URL names is of this process alone.
func Private(storeURL string) bool { e, _ := Of(storeURL); return e.Private }

// Local reports whether the store that the URL names works without a server.
func Local(storeURL string) bool { e, _ := Of(storeURL); return e.Local }

// Loss returns by how much the store is lossy that the URL names, as far as the URL shows: 0 for one that it
// calls durable, and for a wrong URL.
func Loss(storeURL string) time.Duration {
	e, err := Of(storeURL)
	_, query, _ := strings.Cut(storeURL, "?")
	keys, wrong := url.ParseQuery(query)
	if err != nil || wrong != nil {
		return 0
	}
	if on, _ := strconv.ParseBool(keys.Get("durable")); on {
		return 0
	}
	if loss, err := time.ParseDuration(keys.Get("loss")); err == nil {
		return loss
	}
	return e.Loss
}

// Name returns the first scheme of the engine that a URL names, such as postgres; empty for an unknown
// one.
func Name(storeURL string) string {
	e, err := Of(storeURL)
	if err != nil {
		return ""
	}
	return e.Schemes[0]
}

// IsDatabase reports whether a text is the URL of a database, which can hold ids
// or be a store. A path that looks like one can be given as ./mysql://…
func IsDatabase(text string) bool {
	e, _ := Of(text)
	return e.Database && strings.Contains(text, "://")
}

// IsStore reports whether a text is the URL of a store alone: neither a database, nor a file whose name
// has a colon.
func IsStore(text string) bool {
	e, err := Of(text)
	_, rest, _ := strings.Cut(text, ":")
	return err == nil && !e.Database && (strings.HasPrefix(rest, "//") || slices.Contains(e.Schemes, "file"))
}

// SentInClear returns the hosts that get the URL's password without TLS, as host:port, as far as the URL shows.
func SentInClear(storeURL string) []string {
	scheme, rest, _ := strings.Cut(storeURL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	keys, err := url.ParseQuery(query)
	at := strings.LastIndexByte(rest, '@')
	if on, _ := strconv.ParseBool(keys.Get("tls")); err != nil || on || Local(storeURL) || slices.Contains([]string{"etcds", "rediss"}, strings.ToLower(scheme)) {
		return nil
	}
	if !strings.Contains(rest[:max(at, 0)], ":") && !keys.Has("password-file") {
		return nil
	}
	hosts, _, _ := strings.Cut(rest[at+1:], "/")
	return strings.Split(hosts, ",")
}
