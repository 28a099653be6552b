package engine

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in place of what must not be seen.
const Hidden = "xxxxx"

// password is one in a text that is no URL, such as the key words of a driver.
var password = regexp.MustCompile(`(?i)((?:password|passwd|pwd)=)[^\s&;]+`)

// shown reports whether some engine's URLs have that key: its values are no secrets.
func shown(key string) bool {
	return slices.ContainsFunc(engines(), func(e engine) bool { return slices.Contains(strings.Fields(e.keys), key) })
}

// Redact returns the URL for people's eyes: with xxxxx in place of a password and of
// every query value that could be a secret. It goes by the signs alone in their widest
// reading, so that a URL that is not quite right shows nothing of a password either.
func Redact(storeURL string) string {
	storeURL = password.ReplaceAllString(storeURL, "${1}"+Hidden)
	scheme, rest, ok := strings.Cut(storeURL, ":")
	if !ok {
		return storeURL
	}
	slashes := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		slashes, rest = "//", after
	}
	at := strings.LastIndexByte(rest, '@')
	userinfo, rest := rest[:max(at, 0)], rest[at+1:]
	if at >= 0 {
		name, _, has := strings.Cut(userinfo, ":")
		switch {
		case strings.EqualFold(scheme, "file"): // a directory with such a name
		case slashes == "" || strings.EqualFold(scheme, "nats") && !has: // for NATS a token
			userinfo = Hidden
		case has:
			userinfo = name + ":" + Hidden
		}
		userinfo += "@"
	}
	path, query, has := strings.Cut(rest, "?")
	if has {
		query = "?" + redactQuery(query)
	}
	return scheme + ":" + slashes + userinfo + path + query
}

func redactQuery(query string) string {
	pairs := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		if key, _, has := strings.Cut(pair, "="); !has || !shown(key) {
			pairs[i] = key + "=" + Hidden
		}
	}
	return strings.Join(pairs, "&")
}
