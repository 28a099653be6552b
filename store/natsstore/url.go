package natsstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	defaultPort = "4222"

	// maxFile is the size up to which a secret, certificate or key is read.
	maxFile = 1 << 20
)

// ParseURL returns the config that a URL means; the package's comment says what
// it may hold. It reads the files of ca, cert and key. An error names the part
// that is wrong, and never shows a password.
//
// The URL is taken apart by hand: package net/url knows no list of hosts, and
// its errors show what they could not parse.
func ParseURL(u string) (Config, error) {
	var c Config
	rest, ok := strings.CutPrefix(u, "nats://")
	if !ok {
		return c, errors.New("natsstore: URL: must begin with nats://")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if strings.Contains(rest, "@") {
		return c, errors.New("natsstore: URL: has an @ behind the hosts: one of /?#@ in a name, password or path must be written as %XX")
	}
	if strings.Contains(rest, "#") {
		return c, errors.New("natsstore: URL: must not have a fragment")
	}
	path, rawQuery, _ := strings.Cut(rest, "?")

	hosts := authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		hosts = authority[at+1:]
		user, password, _ := strings.Cut(authority[:at], ":")
		var userErr, passwordErr error
		c.User, userErr = url.PathUnescape(user)
		c.Password, passwordErr = url.PathUnescape(password)
		if userErr != nil || passwordErr != nil {
			return Config{}, errors.New("natsstore: URL: user or password: % must be followed by two hexadecimal digits")
		}
	}
	c.Bucket = strings.TrimPrefix(path, "/")
	if err := c.takeQuery(rawQuery); err != nil {
		return Config{}, err
	}
	for host := range strings.SplitSeq(hosts, ",") {
		c.Endpoints = append(c.Endpoints, withPort(host))
	}
	// The defaults stay out: who prints the config shall see what was written.
	if _, err := c.withDefaults(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// takeQuery takes what is behind the question mark.
func (c *Config) takeQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("natsstore: URL: query: must be key=value pairs, joined by &, with % followed by two hexadecimal digits")
	}
	var ca, cert, key string
	var secure bool
	texts := map[string]*string{
		"prefix": &c.Prefix, "user": &c.User, "password-file": &c.PasswordFile, "token-file": &c.TokenFile,
		"creds": &c.CredsFile, "nkey": &c.NKeyFile, "ca": &ca, "cert": &cert, "key": &key,
	}
	switches := map[string]*bool{"tls": &secure, "durable": &c.Durable, "unsafe-ignore-loss": &c.UnsafeIgnoreLoss}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return fmt.Errorf("natsstore: URL: %.32q: must be given once, with a value", name)
		}
		value := values[0]
		switch {
		case texts[name] != nil:
			if name == "user" && c.User != "" {
				return errors.New("natsstore: URL: user: is given in front of the hosts already")
			}
			*texts[name] = value
		case switches[name] != nil:
			if *switches[name], err = strconv.ParseBool(value); err != nil {
				return fmt.Errorf("natsstore: URL: %s=%.32q: must be true or false", name, value)
			}
		case name == "loss":
			if c.Loss, err = time.ParseDuration(value); err != nil || c.Loss <= 0 {
				return fmt.Errorf("natsstore: URL: loss=%.32q: must be a duration of more than 0, such as 10s", value)
			}
		case name == "replicas":
			if c.Replicas, err = strconv.Atoi(value); err != nil || c.Replicas < 1 || c.Replicas > maxReplicas {
				return fmt.Errorf("natsstore: URL: replicas=%.32q: must be from 1 to %d", value, maxReplicas)
			}
		default:
			return fmt.Errorf("natsstore: URL: %.32q: is not a key of this URL", name)
		}
	}
	if !secure {
		if ca != "" || cert != "" || key != "" {
			return errors.New("natsstore: URL: ca, cert and key: need tls=true")
		}
		return nil
	}
	c.TLS, err = loadTLS(ca, cert, key)
	return err
}

// loadTLS reads the files that a TLS configuration consists of. Empty names
// mean the system's certificates, and none of this client.
func loadTLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := readFile(ca)
		if err != nil {
			return nil, fmt.Errorf("natsstore: read ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("natsstore: ca %q: must hold certificates in PEM", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("natsstore: cert and key: must be given both or neither")
	}
	if cert == "" {
		return config, nil
	}
	certPEM, err := readFile(cert)
	if err != nil {
		return nil, fmt.Errorf("natsstore: read cert: %w", err)
	}
	keyPEM, err := readFile(key)
	if err != nil {
		return nil, fmt.Errorf("natsstore: read key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("natsstore: cert %q with key %q: %w", cert, key, err)
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

// withPort adds the port to a host that has none. What is not a host either is
// found later.
func withPort(host string) string {
	if bare, ok := strings.CutPrefix(host, "["); ok {
		if bare, ok := strings.CutSuffix(bare, "]"); ok {
			return net.JoinHostPort(bare, defaultPort)
		}
		return host
	}
	if host == "" || strings.Contains(host, ":") {
		return host
	}
	return net.JoinHostPort(host, defaultPort)
}
