package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
)

// readyTime is how long a daemon may take to answer a probe.
const readyTime = 5 * time.Second

func (p program) ready() *cobra.Command {
	var generator string
	cmd := &cobra.Command{
		Use:   "ready [URL]",
		Short: "Ask a daemon whether it is ready",
		Long: `Ready asks a daemon's /readyz. The exit code is 0 if every generator is ready,
or the one of --generator, and 3 if not, or if no daemon answers within 5 s. It
is for probes that run a program, such as those of containers.

URL is the daemon's address, such as http://127.0.0.1:7600. Without it, the
address is that of health, http or admin in the configuration, the first that
is set. The verb sends no token, and takes any certificate.`,
		Example: `  snowfence ready
  snowfence ready --config /etc/snowfence.yaml
  snowfence ready http://127.0.0.1:7600 -g orders`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArguments(cmd, args[1:])
			}
			return nil
		},
	}
	cmd.Flags().VarP(textFlag(&generator, "NAME"), "generator", "g", "ask for this generator alone (default: for all)")
	s := settingFlags(cmd, "config", "http")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var at string
		var err error
		if len(args) == 1 {
			at, err = probeURL(args[0])
		} else if c, loading := s.load(p); loading != nil {
			err = loading
		} else {
			at, err = ownAddress(c)
		}
		if err != nil {
			return usage(cmd, err)
		}
		if generator != "" {
			at += "/" + url.PathEscape(generator)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), readyTime)
		defer cancel()
		if err := daemon.Probe(ctx, at); err != nil {
			return unavailable(err)
		}
		return p.print("ready\n")
	}
	return cmd
}

// probeURL is where to ask, of a URL that names a daemon.
func probeURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", fmt.Errorf("URL is %q, must be a daemon's address such as http://127.0.0.1:7600", text)
	}
	return u.Scheme + "://" + u.Host + "/readyz", nil
}

// ownAddress is where to ask a daemon of this host that has the configuration.
func ownAddress(c config.Config) (string, error) {
	address, scheme := c.Health, "http"
	if address == "" {
		if address = c.HTTP; address == "" {
			address = c.Admin
		}
		if c.TLS.ClientCA != "" {
			return "", errors.New("every client needs a certificate (tls.client-ca): set health, an address for probes, or give a URL")
		}
		if c.TLS.Certificate != "" {
			scheme = "https"
		}
	}
	if address == "" {
		return "", errors.New("health, http and admin are all turned off: set health, an address for probes, or give a URL")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return "", fmt.Errorf("the address %s has no certain port: give a URL", address)
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz", nil
}
