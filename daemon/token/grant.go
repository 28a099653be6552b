package token

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/time/rate"
)

// Hash is the SHA-256 of a token.
type Hash [sha256.Size]byte

// HashOf returns a token's hash. It takes the same time for every token of a length.
func HashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// hashPrefix begins the text of a hash, and names how it was made.
const hashPrefix = "sha256:"

// String returns the hash as it stands in a file.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// Bearer returns the token of an Authorization header (RFC 6750): "Bearer TOKEN". It returns nothing
// for another scheme.
func Bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Grant has the rights of one token. It does not change, and is safe for concurrent use.
type Grant struct {
	// Name distinguishes tokens, in the log and the metrics.
	Name string

	// Generators are the names of the allowed generators. An empty list allows every generator;
	// [NoGenerator] alone allows none.
	Generators []string

	// Rate is how many ids a second all clients with this token may ask for. 0 means any number.
	Rate int

	// Lend is how many worker ids the programs with this token may borrow, of a generator. 0 means none.
	Lend int

	hash  Hash
	limit *rate.Limiter // nil without a rate
}

// NoGenerator in place of generators' names forbids all: such a token is for metrics alone.
const NoGenerator = "-"

// Allows reports whether a generator may be used.
func (g *Grant) Allows(generator string) bool {
	return len(g.Generators) == 0 || slices.Contains(g.Generators, generator)
}

// ReadsMetrics reports whether the metrics may be read, which are of all generators: by a token for all of them, and by
// one with [NoGenerator].
func (g *Grant) ReadsMetrics() bool { return len(g.Generators) == 0 || g.Generators[0] == NoGenerator }

// Limiter returns the rate limiter that all clients with this token share, or nil without a rate.
func (g *Grant) Limiter() *rate.Limiter { return g.limit }

// String returns the line of a file that grants it.
func (g *Grant) String() string {
	return g.Name + " " + g.hash.String() + g.rights()
}

// rights returns the text after the hash in the line.
func (g *Grant) rights() (text string) {
	if len(g.Generators) > 0 {
		text += " generators=" + strings.Join(g.Generators, ",")
	}
	if g.Rate != 0 {
		text += " rate=" + strconv.Itoa(g.Rate)
	}
	if g.Lend != 0 {
		text += " lend=" + strconv.Itoa(g.Lend)
	}
	return text
}

// prefix begins every token of [New], so that scanners of secrets know one.
const prefix = "snowfence_"

// New makes a token of 256 random bits. The line for the file is the grant's String. It returns an
// error for a name or rights that a line can't hold, and when it can't read the randomness.
func New(random io.Reader, name string, generators []string, rate, lend int) (token string, g *Grant, err error) {
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", nil, fmt.Errorf("make a token: %w", err)
	}
	token = prefix + base64.RawURLEncoding.EncodeToString(secret[:])
	if err := checkName(name); err != nil {
		return "", nil, err
	}
	g = &Grant{Name: name, Generators: generators, Rate: rate, Lend: lend, hash: HashOf(token)}
	if _, err := parseLine(g.String()); err != nil {
		return "", nil, err
	}
	return token, g, nil
}

// word matches the names of tokens and generators.
var word = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

const (
	maxName = 63
	maxRate = 1_000_000_000
	maxLend = 1_000_000
)

func checkName(name string) error {
	if !word.MatchString(name) || len(name) > maxName {
		return fmt.Errorf("name %q must be at most %d lower-case letters, digits and single hyphens between them, beginning with a letter", name, maxName)
	}
	return nil
}

// parseLine reads the grant of one line.
func parseLine(line string) (*Grant, error) {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return nil, fmt.Errorf("must be NAME %s… [generators=A,B] [rate=N] [lend=N], as 'snowfence token NAME' prints it", hashPrefix)
	}
	g := &Grant{Name: fields[0]}
	if err := checkName(g.Name); err != nil {
		return nil, err
	}
	text, ok := strings.CutPrefix(fields[1], hashPrefix)
	hash, err := hex.DecodeString(text)
	if !ok || err != nil || len(hash) != len(g.hash) {
		return nil, fmt.Errorf("hash of %s must be %s and %d hexadecimal digits", g.Name, hashPrefix, 2*len(g.hash))
	}
	copy(g.hash[:], hash)
	seen := map[string]bool{}
	for _, field := range fields[2:] {
		key, value, _ := strings.Cut(field, "=")
		if seen[key] {
			return nil, fmt.Errorf("%s= of %s is given twice", key, g.Name)
		}
		seen[key] = true
		switch key {
		case "generators":
			g.Generators = strings.Split(value, ",")
			if value == NoGenerator {
				continue
			}
			if i := slices.IndexFunc(g.Generators, func(name string) bool { return !word.MatchString(name) }); i >= 0 {
				return nil, fmt.Errorf("generators of %s: %q is no generator's name", g.Name, g.Generators[i])
			}
		case "rate", "lend":
			at, of, most := &g.Rate, "ids a second", maxRate
			if key == "lend" {
				at, of, most = &g.Lend, "worker ids", maxLend
			}
			if *at, err = strconv.Atoi(value); err != nil || *at < 1 || *at > most {
				return nil, fmt.Errorf("%s of %s is %q: must be a whole number of %s from 1 to %d", key, g.Name, value, of, most)
			}
		default:
			return nil, fmt.Errorf("%q of %s is unknown: known are generators=, rate= and lend=", field, g.Name)
		}
	}
	return g, nil
}

// parse reads the grants of a file.
func parse(content string) ([]*Grant, error) {
	var grants []*Grant
	lines := map[Hash]int{}
	for i, line := range strings.Split(content, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		g, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if first, twice := lines[g.hash]; twice {
			return nil, fmt.Errorf("line %d: %s has the hash of line %d: a token has one line, which lists all that it allows", i+1, g.Name, first)
		}
		lines[g.hash] = i + 1
		grants = append(grants, g)
	}
	if len(grants) == 0 {
		return nil, errors.New("the file holds no token: it needs a line for each, as 'snowfence token NAME' prints it")
	}
	return grants, nil
}

// find returns the grant of a hash, or nil. It looks at every grant, so the time shows nothing.
func find(grants []*Grant, hash Hash) (found *Grant) {
	for _, g := range grants {
		if subtle.ConstantTimeCompare(g.hash[:], hash[:]) == 1 {
			found = g
		}
	}
	return found
}
