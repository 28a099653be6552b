package natsstore

import "strings"

// A key is stored under the subject $KV.<bucket>.<prefix>.<key>, in which each
// segment of the key, between slashes, is a token. Tokens must not be empty
// and can't hold a dot. So a dot is written "=" and an empty segment "E":
// neither is a byte of keys, which makes it a mapping one to one, and both are
// bytes of key-value keys, so that other clients can show the registers.
//
//	"workers/default/0001"  workers.default.0001
//	"a//b."                 a.E.b=
//	"."                     =
const (
	dot   = "="
	empty = "E"
)

// keyToSubject returns the part after the prefix in the subject of a valid key.
func keyToSubject(key string) string {
	tokens := strings.Split(strings.ReplaceAll(key, ".", dot), "/")
	for i, token := range tokens {
		if token == "" {
			tokens[i] = empty
		}
	}
	return strings.Join(tokens, ".")
}

// subjectToKey is the inverse of keyToSubject. It returns false for the subject of no key.
func subjectToKey(subject string) (key string, ok bool) {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		if token == empty {
			tokens[i] = ""
			continue
		}
		tokens[i] = strings.ReplaceAll(token, dot, ".")
	}
	key = strings.Join(tokens, "/")
	// A subject with a second spelling, such as an empty token, is foreign.
	return key, key != "" && keyToSubject(key) == subject
}

// prefixToFilter returns the filter that the subjects of all keys with a valid
// prefix match. More may match: the segment that the prefix ends in is open.
func prefixToFilter(prefix string) string {
	slash := strings.LastIndexByte(prefix, '/')
	if slash < 0 {
		return ">"
	}
	return keyToSubject(prefix[:slash]) + ".>"
}
