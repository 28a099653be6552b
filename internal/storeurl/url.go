package storeurl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// URL is a store's URL, taken apart. Its methods take keys of the query; the
// first thing that is wrong is kept, and [URL.Done] returns it. It is not safe
// for concurrent use.
type URL struct {
	// Scheme is in lower case.
	Scheme string

	// Path is the text between the first slash after the hosts and the query, unescaped.
	Path string

	user     string // in front of the hosts, unescaped; see Login
	password Secret
	hosts    []string // at least one; see Endpoints
	query    map[string]string
	known    map[string]bool // keys that were asked for
	err      error
}

// Read returns the config that read makes of a URL with one of the schemes. It opens
// no file. It returns the first of these errors: that of [Parse], one of a method of
// URL, that of a key which read did not ask for, and read's own. The engine's name
// stands in front of each but read's.
func Read[C any](engine, raw string, schemes []string, read func(*URL) (C, error)) (C, error) {
	var none C
	u, err := Parse(raw, schemes...)
	if err != nil {
		return none, fmt.Errorf("%s: URL: %w", engine, err)
	}
	c, err := read(u)
	if failure := u.Done(); failure != nil {
		return none, fmt.Errorf("%s: URL: %w", engine, failure)
	}
	if err != nil {
		return none, err
	}
	return c, nil
}

// Open is an engine's OpenURL, made of its ParseURL and its Open.
func Open[C, S any](ctx context.Context, url string, parse func(string) (C, error), open func(context.Context, C) (S, error)) (S, error) {
	c, err := parse(url)
	if err != nil {
		var none S
		return none, err
	}
	return open(ctx, c)
}

// Parse takes a URL apart whose scheme must be a given one. The error
// names the part that is wrong.
func Parse(raw string, schemes ...string) (*URL, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || !slices.Contains(schemes, scheme) {
		return nil, fmt.Errorf("must begin with %s://", strings.Join(schemes, ":// or "))
	}
	u := &URL{Scheme: scheme, query: map[string]string{}, known: map[string]bool{}}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if strings.Contains(rest, "@") {
		// Perhaps the hosts are behind it, and before it stands a password.
		return nil, errors.New("has an @ behind the hosts: in a name, password or value one of /?#@ must be written as %XX")
	}
	if strings.Contains(rest, "#") {
		return nil, errors.New("must not have a fragment")
	}
	if err := CheckReferences(raw); err != nil {
		return nil, fmt.Errorf("%w, or %%24 for the sign", err)
	}
	path, query, _ := strings.Cut(rest, "?")
	if err := u.takeAuthority(authority); err != nil {
		return nil, err
	}
	path = strings.TrimPrefix(path, "/")
	var err error
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, errors.New("path: % must be followed by two hexadecimal digits")
	}
	if err := cmp.Or(CheckPath(path), checkBlanks(u.Path)); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	return u, u.takeQuery(query)
}

// takeAuthority takes the credentials and the hosts.
func (u *URL) takeAuthority(authority string) error {
	hosts := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		hosts = authority[at+1:]
		name, secret, _ := strings.Cut(authority[:at], ":")
		user, nameErr := url.PathUnescape(name)
		password, secretErr := url.PathUnescape(secret)
		if nameErr != nil || secretErr != nil {
			return errors.New("user or password: % must be followed by two hexadecimal digits")
		}
		u.user, u.password = user, Secret(password)
	}
	u.hosts = strings.Split(hosts, ",")
	return nil
}

func (u *URL) takeQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("query: must be key=value pairs, joined by &, with % followed by two hexadecimal digits")
	}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		if values := query[key]; len(values) != 1 || values[0] == "" {
			return fmt.Errorf("%.32q: must be given once, with a value", key)
		}
		u.query[key] = query.Get(key)
		if err := cmp.Or(checkHome(u.query[key]), checkBlanks(u.query[key])); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// Endpoints returns the hosts as host:port, at least one. A host without a port
// gets the default one, which may depend on the scheme and on keys.
func (u *URL) Endpoints(defaultPort string) []string {
	endpoints := make([]string, len(u.hosts))
	for i, host := range u.hosts {
		endpoints[i] = withPort(host, defaultPort)
		if !isEndpoint(endpoints[i]) {
			// It is not shown: a password that lacks its @ looks like a port.
			u.Fail(fmt.Errorf("host number %d: must be host or host:port, with a port from 1 to 65535", i+1))
		}
	}
	return endpoints
}

// Text returns the value of a key, or "".
func (u *URL) Text(key string) string {
	u.known[key] = true
	return u.query[key]
}

// Flag returns the value of a key that is true or false, which it is when it is
// not given.
func (u *URL) Flag(key string) bool {
	text := u.Text(key)
	if text == "" {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		u.refuse(key, text, "must be true or false")
	}
	return on
}

// Count returns the value of a key that is a number from least to most, or zero
// when it is not given.
func (u *URL) Count(key string, least, most int) int {
	text := u.Text(key)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		u.refuse(key, text, fmt.Sprintf("must be a number from %d to %d", least, most))
	}
	return n
}

// Duration returns the value of a key that is a duration of more than zero, or
// zero when it is not given.
func (u *URL) Duration(key string) time.Duration {
	text := u.Text(key)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		u.refuse(key, text, "must be a duration of more than 0, such as 10s")
	}
	return d
}

// Login returns the user, and the password or the file that holds it, each from
// in front of the hosts or from the keys user and password-file. The file is not
// read.
func (u *URL) Login() (user string, password Secret, file string) {
	user, file = u.Text("user"), u.Text("password-file")
	switch {
	case user != "" && u.user != "":
		u.Fail(errors.New("user: is given in front of the hosts already"))
	case file != "" && u.password != "":
		u.Fail(errors.New("password-file: must not be given with a password"))
	}
	return cmp.Or(user, u.user), u.password, file
}

// TLS returns the settings of the keys tls, ca, cert and key: nil when the scheme
// does not secure the connection (implied) and tls is not true.
func (u *URL) TLS(implied bool) *TLS {
	wanted := u.Flag("tls")
	t := &TLS{CAFile: u.Text("ca"), CertFile: u.Text("cert"), KeyFile: u.Text("key")}
	switch {
	case implied && u.Text("tls") != "" && !wanted:
		u.Fail(fmt.Errorf("tls=false: must not be given with %s://", u.Scheme))
	case implied || wanted:
		u.Fail(t.check())
		return t
	case *t != TLS{}:
		u.Fail(errors.New("ca, cert and key: need tls=true"))
	}
	return nil
}

// Done returns that a key of another program was given, or else the first thing that was wrong, or that a key is
// not known: no method asked for it.
func (u *URL) Done() error {
	keys := slices.Sorted(maps.Keys(u.query))
	for _, key := range keys { // first, as other faults may come from it
		if hint := instead(key); hint != "" && !u.known[key] {
			return fmt.Errorf("%.32q: is not a key of %s://: %s", key, u.Scheme, hint)
		}
	}
	if u.err != nil {
		return u.err
	}
	for _, key := range keys {
		if !u.known[key] {
			known := slices.Sorted(maps.Keys(u.known))
			return fmt.Errorf("%.32q: is not a key of %s://; known are %s", key, u.Scheme, strings.Join(known, ", "))
		}
	}
	return nil
}

// instead returns what to write in place of a key that other programs know.
func instead(key string) string {
	switch strings.ToLower(key) {
	case "sslmode", "ssl-mode", "ssl":
		return "write tls=true, and ca=FILE for an authority of your own; the server's certificate is always checked"
	case "sslrootcert", "ssl-ca":
		return "write tls=true&ca=FILE"
	case "sslcert", "sslkey", "ssl-cert", "ssl-key":
		return "write tls=true&cert=FILE&key=FILE"
	case "durable":
		return "this store is durable already, so leave it out"
	}
	return ""
}

// Refuse makes Done fail for that reason if a key is given.
func (u *URL) Refuse(key, reason string) {
	if u.query[key] != "" {
		u.Fail(fmt.Errorf("%s: %s", key, reason))
	}
}

func (u *URL) refuse(key, value, limit string) {
	u.Fail(fmt.Errorf("%s=%.32q: %s", key, value, limit))
}

// Fail makes Done return err, unless something was wrong before or err is nil.
func (u *URL) Fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

// NoHost makes Done fail if the URL has a host, a user or a password. instead is what to write.
func (u *URL) NoHost(instead string) {
	if u.user != "" || u.password != "" || len(u.hosts) != 1 || u.hosts[0] != "" {
		u.Fail(errors.New("must have no host: " + instead))
	}
}
