package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// variable is ${NAME} in the URL of a store.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand puts the values of the environment's variables in place of ${NAME} in a
// URL, so that a password need not stand in the configuration or on a command
// line. They are escaped as URLs ask for, so a password may hold any characters.
// The URLs of directories know no escapes, and are left as they are. An error is
// returned when a variable is not set or is empty.
func Expand(storeURL string, environ []string) (string, error) {
	if strings.HasPrefix(strings.ToLower(storeURL), "file:") {
		return storeURL, nil
	}
	var unset []string
	expanded := variable.ReplaceAllStringFunc(storeURL, func(reference string) string {
		name := variable.FindStringSubmatch(reference)[1]
		value := lookup(environ, name)
		if value == "" {
			unset = append(unset, name)
		}
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
	if len(unset) > 0 {
		return storeURL, fmt.Errorf("variable %s is not set", strings.Join(unset, ", "))
	}
	return expanded, nil
}
