package respfront

import (
	"errors"
	"fmt"
	"math"

	"snowfence.example/snowfence/daemon/internal/front"
)

// refuse answers a command that can't be right.
func (c *conn) refuse(text string) {
	c.fail(text)
	c.meter.Failed("refused")
}

// problem answers with an error of the service, or that the ids of the present generator are texts.
func (c *conn) problem(err error) {
	if errors.Is(err, errTexts) {
		c.refuse("ERR the ids of " + c.key + " are no numbers: use ID.NEXT " + c.key)
		return
	}
	c.report(err, c.authorized)
}

// report is problem for a command that shows a valid token, or does not.
func (c *conn) report(err error, authorized bool) {
	p := front.ProblemOf(err)
	text := prefixOf(p.Type, authorized) + " " + p.Type.String() + ": " + p.Detail
	if p.RetryAfter > 0 {
		text += fmt.Sprintf("; retry after %ds", int(math.Ceil(p.RetryAfter.Seconds())))
	}
	c.fail(text)
	c.meter.Failed(p.Type.String())
}

// prefixOf returns an error's word for programs.
func prefixOf(t front.Type, authorized bool) string {
	switch t {
	case front.InvalidToken:
		if authorized {
			return "NOAUTH" // of a token that was revoked
		}
		return "WRONGPASS"
	case front.NotAllowed:
		return "NOPERM"
	case front.LeaseUnavailable, front.Standby:
		return "NOLEASE"
	case front.ClockUnsafe:
		return "CLOCK"
	}
	switch t.Meaning() {
	case front.Unavailable, front.TooMany, front.Cancelled:
		return "TRYAGAIN"
	}
	return "ERR"
}

// clip cuts a client's word for an error.
func clip(word []byte) string { return string(word[:min(len(word), 128)]) }
