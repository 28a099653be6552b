// Package storeclient is the common part of all engines' clients:
//
//   - a [Life], which Close ends, and calls that end with it: [Life.Usable],
//     [Life.Bound], [Call]
//   - an [Opener] of a connection that calls share
//   - [Turns] among endpoints, and [AskAll] of them
//   - [Token], the random part of a version, and [List]
//
// An engine adds its own part: the swap, and the demands on a server.
package storeclient
