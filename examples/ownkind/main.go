// Command ownkind is the daemon with a kind of id of its own: order numbers, in ordernumber.go.
// All else is as in "snowfence serve": fronts, metrics, stores and the other kinds.
//
//	GOWORK=off go run ./ownkind -config ownkind/config.yaml
//	curl -X POST 'localhost:7600/v1/generators/orders/ids?count=3'
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"snowfence.example/snowfence/daemon"
)

func main() {
	file := flag.String("config", "config.yaml", "the configuration file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	settings, err := load(daemon.Sources{File: *file, Environ: os.Environ()})
	if err == nil {
		err = daemon.Run(ctx, daemon.Config{
			Settings: settings,
			Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
			Version:  "example",
		}, orderNumbers{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ownkind:", err)
		os.Exit(1)
	}
}

// load reads settings in which generators may be of the kind order-number.
func load(sources daemon.Sources) (daemon.Settings, error) {
	sources.Kinds = []string{orderNumbers{}.Name()}
	return daemon.Load(sources)
}
