package sqlstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxFile is the size up to which a password, certificate or key is read.
const maxFile = 1 << 20

// An Address is what a URL says: which servers to connect to and how, which
// needs a driver, and the rest, which Config returns. Its String and log forms
// show no password.
type Address struct {
	Dialect Dialect

	// Hosts are the servers of which one is the primary, each as host:port.
	Hosts []string

	Database string
	User     string

	// Password is the one in the URL; see ReadPassword.
	Password string `json:"-"`

	// PasswordFile holds the password instead. Empty means none does.
	PasswordFile string

	// TLS is used for every connection; its ServerName is the host's to set.
	// Nil means no TLS.
	TLS *tls.Config

	Table   string        // see Config
	Durable bool          // see Config
	Loss    time.Duration // see Config
}

// ParseURL returns the address that a URL means; the package's comment says
// what it may hold. It reads the files of ca, cert and key. An error names the
// part that is wrong, and never shows a password.
//
// The URL is taken apart by hand: package net/url knows no list of hosts, and
// its errors show what they could not parse.
func ParseURL(u string) (Address, error) {
	var a Address
	scheme, rest, _ := strings.Cut(u, "://")
	port := "5432"
	switch scheme {
	case "postgres", "postgresql":
		a.Dialect = PostgreSQL
	case "mysql", "mariadb":
		a.Dialect, port = MySQL, "3306"
	default:
		return Address{}, errors.New("sqlstore: URL: must begin with postgres://, postgresql://, mysql:// or mariadb://")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if strings.ContainsAny(rest, "@#") {
		return Address{}, errors.New("sqlstore: URL: has an @ or # behind the hosts: one of /?#@ in a name, password or path must be written as %XX")
	}
	path, query, _ := strings.Cut(rest, "?")
	hosts := authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		hosts = authority[at+1:]
		if err := a.takeUser(authority[:at]); err != nil {
			return Address{}, err
		}
	}
	database, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil || database == "" || strings.ContainsAny(database, "/\x00") {
		return Address{}, errors.New("sqlstore: URL: must name one database behind the hosts: /database")
	}
	a.Database = database
	if err := a.takeQuery(query); err != nil {
		return Address{}, err
	}
	for host := range strings.SplitSeq(hosts, ",") {
		endpoint, ok := withPort(host, port)
		if !ok {
			// It is not shown: a password that has lost its @ looks so.
			return Address{}, fmt.Errorf("sqlstore: URL: host number %d: must be host or host:port with a port from 1 to 65535", len(a.Hosts)+1)
		}
		a.Hosts = append(a.Hosts, endpoint)
	}
	switch {
	case a.User == "":
		return Address{}, errors.New("sqlstore: URL: must name a user")
	case strings.ContainsRune(a.User+a.Password, 0):
		return Address{}, errors.New("sqlstore: URL: user and password: must have no byte 0")
	case a.Password != "" && a.PasswordFile != "":
		return Address{}, errors.New("sqlstore: URL: password-file: must not be given with a password")
	case a.Durable && a.Loss != 0:
		return Address{}, errors.New("sqlstore: URL: loss: must not be given for a store that is durable")
	}
	return a, nil
}

// Config returns what of the address needs no driver. Connectors, and for
// MySQL Duplicate, are the caller's to add.
func (a Address) Config() Config {
	return Config{Dialect: a.Dialect, Table: a.Table, Durable: a.Durable, Loss: a.Loss}
}

// ReadPassword returns the password: the URL's, or the first line of the
// password file, which is read at every call, so that it may change.
func (a Address) ReadPassword() (string, error) {
	if a.PasswordFile == "" {
		return a.Password, nil
	}
	content, err := readFile(a.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("sqlstore: read password-file: %w", err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// String returns the address for people, without its password.
func (a Address) String() string {
	secure := ""
	if a.TLS != nil {
		secure = " over TLS"
	}
	return fmt.Sprintf("%s database %q user %q%s, %v", strings.Join(a.Hosts, ","), a.Database, a.User, secure, a.Config())
}

// GoString is String, so that %#v shows no password either.
func (a Address) GoString() string { return a.String() }

// LogValue is String for package slog.
func (a Address) LogValue() slog.Value { return slog.StringValue(a.String()) }

// takeUser takes the credentials in front of the hosts.
func (a *Address) takeUser(userinfo string) error {
	user, password, _ := strings.Cut(userinfo, ":")
	var userErr, passwordErr error
	a.User, userErr = url.PathUnescape(user)
	a.Password, passwordErr = url.PathUnescape(password)
	if userErr != nil || passwordErr != nil {
		return errors.New("sqlstore: URL: user or password: % must be followed by two hexadecimal digits")
	}
	return nil
}

// takeQuery takes what is behind the question mark.
func (a *Address) takeQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("sqlstore: URL: query: must be key=value pairs, joined by &, with % followed by two hexadecimal digits")
	}
	var ca, cert, key string
	secure := false
	texts := map[string]*string{
		"table": &a.Table, "user": &a.User, "password-file": &a.PasswordFile, "ca": &ca, "cert": &cert, "key": &key,
	}
	switches := map[string]*bool{"tls": &secure, "durable": &a.Durable}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return fmt.Errorf("sqlstore: URL: %.32q: must be given once, with a value", name)
		}
		value := values[0]
		switch {
		case name == "user" && a.User != "":
			return errors.New("sqlstore: URL: user: is given in front of the hosts already")
		case texts[name] != nil:
			*texts[name] = value
		case switches[name] != nil:
			if *switches[name], err = strconv.ParseBool(value); err != nil {
				return fmt.Errorf("sqlstore: URL: %s=%.32q: must be true or false", name, value)
			}
		case name == "loss":
			if a.Loss, err = time.ParseDuration(value); err != nil || a.Loss <= 0 {
				return fmt.Errorf("sqlstore: URL: loss=%.32q: must be a duration of more than 0, such as 10s", value)
			}
		default:
			return fmt.Errorf("sqlstore: URL: %.32q: is not a key of this URL; those are ca, cert, durable, key, loss, password-file, table, tls, user", name)
		}
	}
	if a.Table != "" {
		if err := validateTable(a.Dialect, a.Table); err != nil {
			return err
		}
	}
	if !secure {
		if ca != "" || cert != "" || key != "" {
			return errors.New("sqlstore: URL: ca, cert and key: need tls=true")
		}
		return nil
	}
	a.TLS, err = loadTLS(ca, cert, key)
	return err
}

// loadTLS reads the files that a TLS configuration consists of. Empty names
// mean the system's certificates, and none of this client.
func loadTLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := readFile(ca)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: read ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("sqlstore: ca %q: must hold certificates in PEM", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("sqlstore: cert and key: must be given both or neither")
	}
	if cert == "" {
		return config, nil
	}
	certPEM, err := readFile(cert)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: read cert: %w", err)
	}
	keyPEM, err := readFile(key)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: read key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: cert %q with key %q: %w", cert, key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// readFile reads a regular file, and none that never ends.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: must be a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	return content, errors.Join(err, f.Close())
}

// withPort returns host:port, with the port given if the host has none, and
// whether it is one.
func withPort(host, port string) (string, bool) {
	if bare, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(bare, "]") {
		host = net.JoinHostPort(strings.TrimSuffix(bare, "]"), port)
	} else if !strings.Contains(host, ":") {
		host = net.JoinHostPort(host, port)
	}
	name, number, err := net.SplitHostPort(host)
	if err != nil || name == "" || strings.ContainsAny(name, " \t\r\n\x00%") {
		return "", false
	}
	n, err := strconv.ParseUint(number, 10, 16)
	return host, err == nil && n > 0
}
