package httpfront

import (
	"log/slog"
	"net/http"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// Protocols are what a TLS listener for this front offers.
func Protocols() []string { return []string{"h2", "http/1.1"} }

// NewServer returns a server with the limits that every connection is held
// to. What the server itself has to say goes to the logger.
func NewServer(handler http.Handler, limits config.Limits, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    limits.Header,
		ReadHeaderTimeout: limits.ReadTimeout,
		ReadTimeout:       limits.ReadTimeout,
		WriteTimeout:      limits.WriteTimeout,
		IdleTimeout:       limits.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
