// Package listen opens the addresses that fronts accept connections on, with
// or without TLS, and reads the token that clients must show. Which addresses
// are allowed without the two is for package config to say.
package listen
