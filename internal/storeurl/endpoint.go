package storeurl

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
)

// CheckEndpoints returns an error unless there is an endpoint and each is host:port, as in a URL. It is
// for configs that are not made of a URL.
func CheckEndpoints(endpoints []string) error {
	if len(endpoints) == 0 {
		return errors.New("endpoints: must be at least one")
	}
	for i, endpoint := range endpoints {
		if !isEndpoint(endpoint) {
			// It is not shown: a URL in its place has a password.
			return fmt.Errorf("endpoint number %d: must be host:port, with a port from 1 to 65535", i+1)
		}
	}
	return nil
}

// CheckText returns an error that names the field unless a text has at most so many
// bytes, each a letter of ASCII, a digit or one of the others.
func CheckText(field, text, others string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s of %d bytes: must have at most %d", field, len(text), most)
	}
	for i, r := range text {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && !strings.ContainsRune(others, r) {
			return fmt.Errorf("%s %q: %q at %d: must be one of [A-Za-z0-9%s]", field, text, string(r), i, others)
		}
	}
	return nil
}

// isEndpoint reports whether an endpoint is a host and a port, and nothing that
// would mean more inside a URL, such as a user.
func isEndpoint(endpoint string) bool {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || host == "" || strings.ContainsFunc(host, foreign) {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// foreign reports whether a character has no place in a host.
func foreign(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`@/?#%,\"<>`, r)
}

// withPort adds the port to a host that has none. It does not check whether that
// is an endpoint.
func withPort(host, port string) string {
	if bare, ok := strings.CutPrefix(host, "["); ok {
		if bare, ok := strings.CutSuffix(bare, "]"); ok {
			return net.JoinHostPort(bare, port)
		}
		return host
	}
	if strings.Contains(host, ":") {
		return host
	}
	return net.JoinHostPort(host, port)
}
