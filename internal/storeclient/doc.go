// Package storeclient is what the clients of all engines are made of:
//
//   - a [Life], which Close ends, and calls that end with it: [Life.Usable],
//     [Life.Bound], [Call]
//   - an [Opener] of a connection that calls share
//   - [Turns] among endpoints, and [AskAll] of them
//   - [Token], the random part of a version, and [List]
//
// An engine adds what is its own: how a swap is made, and what a server must be.
package storeclient
