package testkit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// loss is one reply that is to be lost.
type loss struct {
	match func(request []byte) bool
	lost  chan struct{} // closed when the client's connection was reset
}

// link is one client's connection through a proxy, and the one to the server
// that belongs to it.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	done   chan struct{} // closed by reset

	// The proxy's mutex guards the rest.
	server *net.TCPConn     // nil until it is connected
	broken bool             // reset was called
	gap    [directions]bool // bytes were swallowed; none may follow them
	loss   *loss            // the one that a request of this link met
	losing bool             // the reply is being lost, and lose ends the link
	heard  *loss            // the one that sent is gathered for
	sent   []byte           // the client's bytes since heard was armed
	tail   []byte           // the last bytes that the client sent, too few for the proxy's text
}

// carry connects to the target and passes bytes on in both directions until
// both have ended. A silent link is never connected.
func (l *link) carry(ctx context.Context, target string, silent bool) {
	if silent {
		_, _ = io.Copy(io.Discard, l.client)
		<-l.done
		return
	}
	connection, err := (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", target)
	l.proxy.mu.Lock()
	if err != nil {
		l.reset()
	}
	if l.broken {
		if err == nil {
			_ = connection.Close()
		}
		l.proxy.mu.Unlock()
		return
	}
	l.server = connection.(*net.TCPConn)
	l.proxy.mu.Unlock()

	var requests sync.WaitGroup
	requests.Go(func() { l.pass(toServer, l.client, l.server) })
	l.pass(toClient, l.server, l.client)
	requests.Wait()
	// Not a reset: the last bytes may still be on their way.
	_ = l.client.Close()
	_ = l.server.Close()
}

// reset breaks both connections off. The proxy's mutex is held.
func (l *link) reset() {
	if l.broken {
		return
	}
	l.broken = true
	close(l.done)
	for _, connection := range []*net.TCPConn{l.client, l.server} {
		if connection != nil {
			abort(connection)
		}
	}
}

// abort closes a connection with a reset instead of an orderly end.
func abort(connection *net.TCPConn) {
	// A connection that has broken already refuses; it is none any more.
	_ = connection.SetLinger(0)
	_ = connection.Close()
}

// pass passes bytes on in one direction until they end.
func (l *link) pass(d direction, from, to *net.TCPConn) {
	buffer := make([]byte, chunkSize)
	for {
		n, err := from.Read(buffer)
		if !l.wait(d) {
			return
		}
		verdict := l.judge(d, buffer[:n])
		switch {
		case verdict == lose:
			l.lose(buffer)
			return
		case verdict == forward && n > 0:
			if _, err := to.Write(buffer[:n]); err != nil {
				l.breakOff()
				return
			}
		}
		switch {
		case err == nil:
		case verdict == swallow:
			// Nobody hears of the end, until the proxy heals or ends.
			<-l.done
			return
		case errors.Is(err, io.EOF):
			_ = to.CloseWrite()
			return
		default:
			l.breakOff()
			return
		}
	}
}

// breakOff resets a link with a broken end.
func (l *link) breakOff() {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if !l.losing {
		l.reset()
	}
}

// wait holds bytes back for as long as their direction's delay. It returns
// false if the link was reset meanwhile.
func (l *link) wait(d direction) bool {
	l.proxy.mu.Lock()
	delay := l.proxy.delays[d]
	l.proxy.mu.Unlock()
	if delay <= 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// verdict is a chunk's fate.
type verdict int

const (
	forward verdict = iota
	swallow
	lose // swallow it, and all that follows
)

// judge chooses a chunk's fate; the empty one is the end of a stream.
func (l *link) judge(d direction, chunk []byte) verdict {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == toServer && p.text != "" {
		l.count(chunk)
	}
	if p.weather == dropped || p.weather == mute && d == toClient || p.hiding && d == toServer && len(chunk) == 0 {
		l.gap[d] = true
	}
	switch {
	case l.gap[d]:
		return swallow
	case len(chunk) == 0:
		return forward
	case d == toClient && l.loss != nil:
		l.losing = true
		return lose
	case d == toServer && l.loss == nil && p.loss != nil:
		l.hear(chunk)
	}
	return forward
}

// count looks for the proxy's text, which may come in pieces. The proxy's mutex is held.
func (l *link) count(chunk []byte) {
	seen := append(l.tail, chunk...)
	l.proxy.sent += bytes.Count(seen, []byte(l.proxy.text))
	l.tail = bytes.Clone(seen[max(0, len(seen)-len(l.proxy.text)+1):])
}

// hear shows a request to the armed loss. A link that it meets keeps it, before
// the request is passed on, so that its reply can't slip through. The proxy's
// mutex is held.
func (l *link) hear(chunk []byte) {
	p := l.proxy
	if l.heard != p.loss {
		l.heard, l.sent = p.loss, nil
	}
	if len(l.sent) > chunkSize {
		l.sent = append(l.sent[:0], l.sent[len(l.sent)-chunkSize:]...)
	}
	l.sent = append(l.sent, chunk...)
	if p.loss.match(l.sent) {
		l.loss, p.loss, l.sent = p.loss, nil, nil
	}
}

// lose swallows the server's bytes until it is silent, and then breaks off
// the client's connection. The server's is ended in order: requests that it
// has not read yet come before the end.
func (l *link) lose(buffer []byte) {
	limit := time.Now().Add(silenceLimit)
	for {
		quiet := time.Now().Add(silence)
		if quiet.After(limit) {
			quiet = limit
		}
		_ = l.server.SetReadDeadline(quiet)
		if _, err := l.server.Read(buffer); err != nil {
			break
		}
	}
	abort(l.client)
	close(l.loss.lost)
	_ = l.server.CloseWrite()
	_ = l.server.SetReadDeadline(time.Now().Add(silenceLimit))
	_, _ = io.Copy(io.Discard, l.server)
}
