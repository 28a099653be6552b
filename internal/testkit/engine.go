package testkit

import (
	"fmt"
	"testing"
	"time"
)

// Engine is a kind of store as the program's URLs name it, on a real server of
// its own.
type Engine struct {
	Name string

	// Server is the one that holds the store. Nil means that there is none: the
	// engine is a folder.
	Server *Server

	// Lossy says that the engine can lose acknowledged writes.
	Lossy bool

	url func(address string) string
}

// EngineNames are the engines that StartEngine knows and that outlive a
// process.
func EngineNames() []string {
	return []string{"file"}
}

// StartEngine starts the server of an engine.
func StartEngine(t testing.TB, name string) Engine {
	t.Helper()
	switch name {
	case "file":
		dir := t.TempDir()
		return Engine{Name: name, url: func(string) string { return "file:" + dir }}
	default:
		t.Fatalf("engine %q is not known", name)
		return Engine{}
	}
}

// URL names the store by way of an address, the server's own or a proxy's; ""
// means the server's own. A lossy engine declares the loss.
func (e Engine) URL(address string, loss time.Duration) string {
	if address == "" && e.Server != nil {
		address = e.Server.Addr()
	}
	if !e.Lossy {
		return e.url(address)
	}
	return fmt.Sprintf("%s?loss=%s", e.url(address), loss)
}

// LossOf is the loss that the engine declares when it is told one.
func (e Engine) LossOf(loss time.Duration) time.Duration {
	if e.Lossy {
		return loss
	}
	return 0
}
