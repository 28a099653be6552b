// Package listen opens the address that a front accepts connections on, with
// or without TLS, and reads the token that clients must show. Which addresses
// are allowed without the two is for package config to say.
package listen
