package engine

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in place of what must not be seen.
const Hidden = "xxxxx"

// password is one in a text that is no URL, such as the key words of a driver.
var password = regexp.MustCompile(`(?i)((?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|\{[^}]*\}?|[^\s&;]+)`)

// host is one of a URL, with a port or without. After another colon there may be a password.
var host = regexp.MustCompile(`^(?:\[[^\]]*\]|[^:]*)(?::(?:[0-9]{1,5}|\$\{\w+\}))?$`)

// isShown reports whether some engine's URLs have that key: its values are no secrets.
func isShown(key string) bool {
	return slices.ContainsFunc(Table(), func(e Engine) bool { return slices.Contains(strings.Fields(e.Keys), key) })
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
	if strings.EqualFold(scheme, "file") {
		slashes += rest // a directory, whatever signs its name has
		rest = ""
	}
	at := strings.LastIndexByte(rest, '@')
	userinfo, rest := rest[:max(at, 0)], rest[at+1:]
	if at >= 0 {
		name, _, has := strings.Cut(userinfo, ":")
		switch {
		case slashes == "" || !has && tokenAlone(scheme):
			userinfo = Hidden
		case has:
			userinfo = name + ":" + Hidden
		}
		userinfo += "@"
	}
	if slashes != "" || at < 0 && isKnown(scheme) {
		rest = redactHosts(rest)
	}
	path, query, has := strings.Cut(rest, "?")
	if has {
		query = "?" + redactQuery(query)
	}
	return scheme + ":" + slashes + userinfo + path + query
}

// tokenAlone reports whether a secret without a name stands in front of the hosts of a scheme's URLs: a token of NATS, or a
// password of Redis that lacks its colon.
func tokenAlone(scheme string) bool {
	return slices.Contains([]string{"nats", "redis", "rediss"}, strings.ToLower(scheme))
}

// isKnown reports whether some engine's URLs have that scheme.
func isKnown(scheme string) bool {
	return slices.ContainsFunc(Table(), func(e Engine) bool { return slices.Contains(e.Schemes, strings.ToLower(scheme)) })
}

// redactHosts hides the rest of a URL from the first colon on that no port follows: the hosts are forgotten, and a
// password has their place.
func redactHosts(rest string) string {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := 0
	for one := range strings.SplitSeq(rest[:end], ",") {
		if !host.MatchString(one) {
			return rest[:at+strings.IndexByte(one, ':')+1] + Hidden
		}
		at += len(one) + 1
	}
	return rest
}

func redactQuery(query string) string {
	pairs := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		if key, _, has := strings.Cut(pair, "="); !has || !isShown(key) {
			pairs[i] = key + "=" + Hidden
		}
	}
	return strings.Join(pairs, "&")
}
