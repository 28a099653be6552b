package front

import "sync/atomic"

// MaxGuesses is how many wrong tokens a connection may show before it ends.
const MaxGuesses = 5

// Guesses counts the wrong tokens of one connection. Its zero value is ready to use, and a nil one counts nothing. It is safe for
// concurrent use.
type Guesses struct{ n atomic.Int32 }

// Note counts the token that a client has shown, if it was wrong. It reports whether the connection must end by that.
func (g *Guesses) Note(c Client) (spent bool) {
	return g != nil && c.Guessed() && g.n.Add(1) >= MaxGuesses
}

// Spent reports whether the connection has shown too many wrong tokens.
func (g *Guesses) Spent() bool { return g != nil && g.n.Load() >= MaxGuesses }
