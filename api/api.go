// Package api holds the descriptions of the daemon's surface that clients are
// generated from: the OpenAPI document of the HTTP front. It is public because
// clients import it.
package api

import _ "embed"

//go:embed openapi.yaml
var openAPI string

// OpenAPI returns the OpenAPI 3.1 document of the HTTP front, in YAML. The
// bytes are the caller's own.
func OpenAPI() []byte { return []byte(openAPI) }
