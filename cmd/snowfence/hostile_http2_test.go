//go:build servers

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"snowfence.example/snowfence/api/snowfencev1"
)

const (
	next        = snowfencev1.Ids_Next_FullMethodName
	nextRequest = "\x00\x00\x00\x00\x03\x10\x90\x4e" // count: 10,000

	manyStreams = 250 // that an attack has on one connection
)

// half is a message of 60 KB of gRPC, cut where a stream's window ends.
var half = "\x00" + string(binary.BigEndian.AppendUint32(nil, 60_000)) + strings.Repeat("x", 16_000)

// streams is an attack by requests of HTTP/2 on one connection, whose client reads no answers: its window is 0, or it reads nothing at all.
type streams struct {
	method, path string
	header       int    // bytes of one header field
	body         string // sent with each request
	whole        bool   // and ends it
	deaf         bool   // the client reads nothing, and asks again and again
}

// attack sends the requests, and answers pings until the connection ends.
func (s streams) attack(c net.Conn) error {
	framer := http2.NewFramer(c, c)
	err := send(c, http2.ClientPreface)
	var settings []http2.Setting
	if !s.deaf {
		settings = append(settings, http2.Setting{ID: http2.SettingInitialWindowSize})
	}
	if err = errors.Join(err, framer.WriteSettings(settings...)); err != nil {
		return err
	}
	if s.deaf {
		for first := 0; err == nil; first += manyStreams {
			err = s.send(framer, first)
		}
		return err
	}
	for settled := false; !settled; {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		_, settled = frame.(*http2.SettingsFrame)
	}
	sent, gone := make(chan error, 1), make(chan struct{})
	go func() {
		sent <- s.send(framer, 0)
		close(gone)
	}()
	defer func() { // it may write still
		_ = c.Close()
		<-gone
	}()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		ping, ok := frame.(*http2.PingFrame)
		if !ok || ping.IsAck() {
			continue
		}
		select {
		case err := <-sent:
			sent <- err
			if err == nil {
				_ = framer.WritePing(true, ping.Data)
			}
		default: // the requests show that the client lives
		}
	}
}

// send sends the requests. As many were sent before.
func (s streams) send(framer *http2.Framer, before int) error {
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	method := s.method
	if method == "" {
		method = "POST"
	}
	for i := range manyStreams {
		header.Reset()
		fields := [][2]string{
			{":method", method}, {":scheme", "http"}, {":path", s.path}, {":authority", "localhost"}, {"content-type", "application/grpc"}, {"te", "trailers"},
		}
		if s.header > 0 {
			fields = append(fields, [2]string{"long", fmt.Sprint(i) + strings.Repeat("x", s.header)})
		}
		for _, f := range fields {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // into memory
		}
		block, stream := header.Bytes(), uint32(2*(before+i)+1)
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true, EndStream: s.whole && s.body == ""})
		if s.body != "" {
			err = errors.Join(err, framer.WriteData(stream, s.whole, []byte(s.body)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overTLS speaks HTTP/2 over TLS before an attack.
func overTLS(ctx context.Context, attack func(net.Conn) error) func(net.Conn) error {
	return func(c net.Conn) error {
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		return attack(secure)
	}
}
