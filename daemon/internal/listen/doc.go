// Package listen opens the addresses that fronts accept connections on: with or without TLS,
// within the limits of connections. Which addresses are allowed without TLS and a token is for
// package config to say. Files of TLS that change are read again, so that a renewal needs no restart.
package listen
