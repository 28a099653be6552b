package storeclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// askLimit bounds how long endpoints are asked.
	askLimit = time.Second

	// othersLimit is how much longer the others may take once one has answered:
	// a member that is away must not hold up who opens.
	othersLimit = 200 * time.Millisecond
)

// Turns decides which of several endpoints is tried first: the one that served last.
// The zero value begins with the first. It is safe for concurrent use.
type Turns struct {
	n atomic.Uint64 // divided by the number of endpoints, the rest is whose turn it is
}

// Outcome is the result of a try.
type Outcome int

// The outcomes.
const (
	Answered Outcome = iota // by the endpoint: the try is over
	Unsent                  // nothing was sent: the next endpoint can be tried
	Unknown                 // it may have been sent: it must not be sent again
)

// InTurn tries the endpoints in turn, each at most once, until one answers or
// something may have been sent. outcome decides that by the error of a try. An endpoint
// that does not answer loses its turn. The error joins the errors of all tries.
func InTurn[E, T any](t *Turns, endpoints []E, try func(E) (T, error), outcome func(error) Outcome) (T, error) {
	var errs []error
	for range endpoints {
		turn := t.n.Load()
		value, err := try(endpoints[turn%uint64(len(endpoints))])
		became := outcome(err)
		if became == Answered {
			return value, err
		}
		// Also where the caller waited no longer: if no caller waits for as long as
		// it takes to give a silent server up, its turn must end too.
		t.n.CompareAndSwap(turn, turn+1)
		errs = append(errs, err)
		if became == Unknown {
			break
		}
	}
	var none T
	return none, errors.Join(errs...)
}

// AskAll calls ask for every endpoint, all at once, and returns when all have
// returned. Their context leaves ctx half of its time and lasts for a second at
// most, and for 0.2 s once an ask has returned true.
func AskAll(ctx context.Context, endpoints []string, ask func(ctx context.Context, i int, endpoint string) bool) {
	ctx, cancel := brief(ctx, askLimit)
	defer cancel()
	var asking sync.WaitGroup
	for i, endpoint := range endpoints {
		asking.Go(func() {
			if ask(ctx, i, endpoint) {
				after(othersLimit, cancel) // the first answer's ends first
			}
		})
	}
	asking.Wait()
}

// Dial connects to an address, with TLS unless config is nil. An empty ServerName of
// config means the address's host.
func Dial(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", address, err)
	}
	return connection, nil
}
