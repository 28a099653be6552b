package engine

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in place of a secret.
const Hidden = "xxxxx"

// password matches a password in a text other than a URL, such as the key words of a driver.
var password = regexp.MustCompile(`(?i)((?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|\{[^}]*\}?|[^\s&;]+)`)

// host is one of a URL, with a port or without. After another colon there may be a password.
var host = regexp.MustCompile(`^(?:\[[^\]]*\]|[^:]*)(?::(?:[0-9]{1,5}|\$\{\w+\}))?$`)

// Redact returns the URL for people's eyes: with xxxxx in place of a password and of
// every query value that could be a secret. It goes by the signs alone in their widest
// reading, so that a URL that is not quite right shows nothing of a password either.
func Redact(storeURL string) string {
	storeURL = password.ReplaceAllString(storeURL, "${1}"+Hidden)
	scheme, rest, ok := strings.Cut(storeURL, ":")
	if !ok {
		return storeURL
	}
	if strings.EqualFold(scheme, "file") {
		return storeURL // a directory, whatever signs its name has
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
		case slashes == "" || !has && slices.Contains([]string{"nats", "redis", "rediss"}, strings.ToLower(scheme)):
			userinfo = Hidden // of NATS it is a token, and of Redis a password that lacks its colon
		case has:
			userinfo = name + ":" + Hidden
		}
		userinfo += "@"
	}
	if _, known := ofScheme(scheme); slashes != "" || at < 0 && known {
		rest = redactHosts(rest)
	}
	path, query, has := strings.Cut(rest, "?")
	if has {
		query = "?" + redactQuery(query)
	}
	return scheme + ":" + slashes + userinfo + path + query
}

// redactHosts hides the rest of a URL from the first colon on that is not followed by a port: the hosts
// are forgotten, and a password has their place.
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

// redactQuery hides the values of all keys but the keys of engines' URLs.
func redactQuery(query string) string {
	var shown []string
	for _, e := range Table() {
		shown = append(shown, strings.Fields(e.Keys)...)
	}
	pairs := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		if key, _, has := strings.Cut(pair, "="); !has || !slices.Contains(shown, key) {
			pairs[i] = key + "=" + Hidden
		}
	}
	return strings.Join(pairs, "&")
}
