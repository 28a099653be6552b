// Package snowfencev1 has the client and the messages of the daemon's gRPC front, generated from
// snowfence.proto. That file says what each call promises.
//
// The package is a module of its own, so that only programs which import it require gRPC.
package snowfencev1
