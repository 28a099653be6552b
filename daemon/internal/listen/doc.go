// Package listen opens the addresses that fronts accept connections on: with or without TLS,
// within the limits of connections. Package config decides which addresses are allowed without TLS and
// a token. Files of TLS that change are read again, so a renewal works without a restart.
package listen
