package testkit

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on the loopback interface. It passes everything on, half-closes
// included, until one of its verbs is called. Cut, Drop and LoseReplies replace one
// another; Delay, HideEnds and LoseReplyTo work beside them; Heal ends them all. TCP
// never leaves a gap in a stream, so Heal resets the connections that lost bytes. A Proxy
// is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup // every goroutine of the proxy

	mu      sync.Mutex
	closed  bool
	target  string
	weather weather
	delays  [directions]time.Duration
	hiding  bool  // the server does not learn that a client has gone
	loss    *loss // armed, and not yet met by a request
	text    string
	sent    int // how often clients have sent the text
	links   map[*link]struct{}
}

// weather is the fate of every byte.
type weather int

const (
	fair    weather = iota
	cut             // no connection
	dropped         // connections, and no bytes
	mute            // no bytes from the server
)

// direction is the way that bytes go.
type direction int

const (
	toServer direction = iota
	toClient
	directions
)

const (
	maxLinks  = 1024            // connections at a time; more are reset
	chunkSize = 32 << 10        // how much is read, judged and passed on at a time
	dialLimit = 5 * time.Second // how long the target may take to accept a connection

	// silence is how long a server must have sent nothing for its answer to be over, and
	// silenceLimit how long that is waited for. Housekeeping (HTTP/2's window updates,
	// pings) comes before the reply that is to be lost.
	silence      = 150 * time.Millisecond
	silenceLimit = 2 * time.Second
)

// NewProxy starts a proxy to target, a host and port. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		t.Fatalf("start proxy: %v", err)
	}
	p := &Proxy{listener: listener, target: target, links: make(map[*link]struct{})}
	p.running.Go(func() { p.accept(ctx) })
	t.Cleanup(func() {
		cancel()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		_ = listener.Close()
		p.ResetAll()
		p.running.Wait()
	})
	return p
}

// Addr is the address that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget sends new connections to another server. Existing ones stay where they are.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Cut resets every connection, and new ones as soon as they are made, until
// Heal.
func (p *Proxy) Cut() {
	p.become(cut)
	p.ResetAll()
}

// Drop swallows every byte in either direction until Heal, as a cable that is out:
// connections fall silent, their ends too, and new ones are accepted and never answered.
func (p *Proxy) Drop() { p.become(dropped) }

// LoseReplies passes requests on to the server and swallows its answers, until Heal.
func (p *Proxy) LoseReplies() { p.become(mute) }

// Delay holds bytes back on their way to the server and to the client, for at least as long as given
// and at most twice as long. Zero means no delay.
func (p *Proxy) Delay(requests, replies time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delays = [directions]time.Duration{toServer: requests, toClient: replies}
}

// HideEnds keeps from the server that clients have gone, until Heal: it goes on with their last
// request. Some servers roll that back when they notice.
func (p *Proxy) HideEnds() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hiding = true
}

// ResetAll breaks every connection off (RST). New ones are fine.
func (p *Proxy) ResetAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Heal ends the other verbs' faults, and resets the connections that lost bytes.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather, p.hiding, p.loss, p.delays = fair, false, nil, [directions]time.Duration{}
	for l := range p.links {
		if l.gap != [directions]bool{} {
			l.reset()
		}
	}
}

// LoseReplyTo lets one request reach the server and loses its reply. Once match returns true of a
// client's bytes, the request is passed on, and the server's bytes on that connection are withheld.
// When the server has answered and is silent again, it has carried the request out: the client's
// connection is reset, and lost is closed.
//
// match gets one client's bytes since the call, or the last 32 KiB of it, since a
// request may arrive in pieces. It must look for something that only the request meant
// has, such as the value to be stored, and must not call the proxy. A second call takes
// the place of a first that no request has met yet.
func (p *Proxy) LoseReplyTo(match func(request []byte) bool) (lost <-chan struct{}) {
	l := &loss{match: match, lost: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = l
	return l.lost
}

// Count counts how often clients send a text from now on, such as the value of one swap,
// and forgets the text before. The text must not begin within itself.
func (p *Proxy) Count(text string) (sent func() int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.sent = text, 0
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.sent
	}
}

func (p *Proxy) become(w weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
}

// accept takes connections until the proxy ends.
func (p *Proxy) accept(ctx context.Context) {
	for {
		connection, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client has gone already
		}
		l := &link{proxy: p, client: connection.(*net.TCPConn), done: make(chan struct{})}
		p.mu.Lock()
		if p.closed || p.weather == cut || len(p.links) == maxLinks {
			l.reset()
			p.mu.Unlock()
			continue
		}
		p.links[l] = struct{}{}
		target, silent := p.target, p.weather == dropped
		l.gap = [directions]bool{silent, silent}
		p.running.Go(func() {
			l.carry(ctx, target, silent)
			p.mu.Lock()
			delete(p.links, l)
			p.mu.Unlock()
		})
		p.mu.Unlock()
	}
}
