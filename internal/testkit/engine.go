package testkit

import (
	"database/sql"
	"fmt"
	"net/url"
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

	// Behind is the server where that one keeps the store, if it does not do so itself.
	Behind *Server

	// Troubles are faults of this engine alone, by name: true begins one, false ends it.
	Troubles map[string]func(begin bool)

	// Lossy means that the engine can lose acknowledged writes.
	Lossy bool

	url func(address string) string
}

// StartEngine starts the server of an engine.
func StartEngine(t testing.TB, name string) Engine {
	t.Helper()
	switch name {
	case "file":
		dir := t.TempDir()
		return Engine{Name: name, url: func(string) string { return "file:" + dir }}
	case "etcd":
		return Engine{Name: name, Server: Etcd(t), url: func(address string) string { return "etcd://" + address }}
	case "zookeeper":
		return Engine{Name: name, Server: ZooKeeper(t), url: func(address string) string { return "zookeeper://" + address }}
	case "redis":
		return Engine{Name: name, Server: Redis(t), Lossy: true, url: func(address string) string { return "redis://" + address }}
	case "postgres":
		return Engine{Name: name, Server: Postgres(t), url: func(address string) string { return sqlURL("postgres", address) + "?durable=true" }}
	case "mysql":
		return Engine{Name: name, Server: MariaDB(t), url: func(address string) string { return sqlURL("mysql", address) + "?durable=true" }}
	case "kubernetes":
		k := StartKubernetes(t)
		troubles := map[string]func(bool){"requests refused as too many": k.Busy, "token expired": func(begin bool) { k.Expire(t, begin) }}
		return Engine{Name: name, Server: k.Server, Behind: k.Etcd, Troubles: troubles, url: func(address string) string {
			return "kubernetes:///" + KubernetesNamespace + "?kubeconfig=" + k.Kubeconfig(t, "http://"+address, "")
		}}
	case "nats":
		return Engine{Name: name, Server: NATS(t), Lossy: true, url: func(address string) string { return "nats://" + address }}
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

// The settings of every SQL server here: a database, and who may do anything in it
// by which password.
const (
	SQLDatabase = "snowfence"
	SQLUser     = "snowfence"
	SQLPassword = "fence/of@snow"
)

// SQL starts the server of a scheme, "postgres" or "mysql", and returns the URL of
// its database and a connection to it. The test brings the drivers, "pgx" and
// "mysql".
func SQL(t testing.TB, scheme string) (address string, db *sql.DB) {
	t.Helper()
	var driver, source string
	if scheme == "mysql" {
		at := MariaDB(t).Addr()
		address = sqlURL(scheme, at)
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s", SQLUser, SQLPassword, at, SQLDatabase)
	} else {
		address = sqlURL(scheme, Postgres(t).Addr())
		driver, source = "pgx", address+"?sslmode=disable"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return address, db
}

// SQLURL names a database of a server to package engine and to drivers, with the user who may do anything.
func SQLURL(scheme, address, database string) string {
	return scheme + "://" + url.UserPassword(SQLUser, SQLPassword).String() + "@" + address + "/" + database
}

func sqlURL(scheme, address string) string { return SQLURL(scheme, address, SQLDatabase) }
