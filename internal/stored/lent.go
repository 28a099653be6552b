package stored

import "strings"

// lentPrefix begins the version text of a register that is lent.
const lentPrefix = "lent"

// LentTo is the version text of a register that is lent: "lent billing (token shop)". Both names may be empty.
func LentTo(program, token string) string {
	text := lentPrefix
	if program != "" {
		text += " " + program
	}
	if token != "" {
		text += " (token " + token + ")"
	}
	return text
}

// Lent reports whether the process is a borrower, and the name of its token.
func (p Process) Lent() (token string, lent bool) {
	rest, lent := strings.CutPrefix(p.Version, lentPrefix)
	if !lent || rest != "" && rest[0] != ' ' {
		return "", false
	}
	if i := strings.LastIndex(rest, " (token "); i >= 0 && strings.HasSuffix(rest, ")") {
		token = rest[i+len(" (token ") : len(rest)-1]
	}
	return token, true
}
