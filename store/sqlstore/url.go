package sqlstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeurl"
)

// An Address is what a URL says: which servers to connect to and how, which
// needs a driver, and the rest, which Config returns. Its String and log forms
// show no password.
type Address struct {
	Dialect Dialect

	// Hosts are the servers of which one is the primary, each as host:port.
	Hosts []string

	Database string
	User     string

	// Password is the one in the URL; see ReadPassword.
	Password storeurl.Secret

	// PasswordFile holds the password instead. Empty means none does.
	PasswordFile string

	// TLS is used for every connection; its ServerName is the host's to set.
	// Nil means no TLS.
	TLS *tls.Config

	Table      string        // see Config
	Durable    bool          // see Config
	Loss       time.Duration // see Config
	WholePages bool          // see Config
}

// ParseURL returns the address that a URL means; the package's comment says
// what it may hold. It reads the files of ca, cert and key. An error names the
// part that is wrong, and never shows a password.
func ParseURL(raw string) (Address, error) {
	u, err := storeurl.Parse(raw, "postgres", "postgresql", "mysql", "mariadb")
	if err != nil {
		return Address{}, fmt.Errorf("sqlstore: URL: %w", err)
	}
	a := Address{
		Dialect: PostgreSQL, Database: u.Path, TLS: u.TLS(false),
		Table: u.Text("table"), Durable: u.Flag("durable"), Loss: u.Duration("loss"),
		WholePages: u.Flag("whole-pages"),
	}
	port := "5432"
	if u.Scheme == "mysql" || u.Scheme == "mariadb" {
		a.Dialect, port = MySQL, "3306"
	}
	a.Hosts = u.Endpoints(port)
	a.User, a.Password, a.PasswordFile = u.Login()
	err = u.Done()
	switch {
	case err != nil:
	case a.Database == "" || strings.ContainsAny(a.Database, "/\x00"):
		err = errors.New("must name one database behind the hosts: /database")
	case a.User == "":
		err = errors.New("must name a user")
	case strings.ContainsRune(a.User+string(a.Password), 0):
		err = errors.New("user and password: must have no byte 0")
	case a.Durable && a.Loss != 0:
		err = errors.New("loss: must not be given for a store that is durable")
	}
	if err != nil {
		return Address{}, fmt.Errorf("sqlstore: URL: %w", err)
	}
	if a.Table != "" {
		if err := validateTable(a.Dialect, a.Table); err != nil {
			return Address{}, err
		}
	}
	return a, nil
}

// Config returns what of the address needs no driver. Connectors, and for
// MySQL Duplicate, are the caller's to add.
func (a Address) Config() Config {
	return Config{Dialect: a.Dialect, Table: a.Table, Durable: a.Durable, Loss: a.Loss, WholePages: a.WholePages}
}

// ReadPassword returns the password: the URL's, or the first line of the
// password file, which is read at every call, so that it may change.
func (a Address) ReadPassword() (storeurl.Secret, error) {
	password, err := storeurl.Password(a.Password, a.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("sqlstore: read password-file: %w", err)
	}
	return password, nil
}

// String returns the address for people, without its password.
func (a Address) String() string {
	secure := ""
	if a.TLS != nil {
		secure = " over TLS"
	}
	return fmt.Sprintf("%s database %q user %q%s, %v", strings.Join(a.Hosts, ","), a.Database, a.User, secure, a.Config())
}

// GoString is String, so that %#v shows no password either.
func (a Address) GoString() string { return a.String() }

// LogValue is String for package slog.
func (a Address) LogValue() slog.Value { return slog.StringValue(a.String()) }
