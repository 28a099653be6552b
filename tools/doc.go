// Package tools holds the programs and tests that keep the house in order; it is not a part of the
// product: go.mod pins the linter, and the tests here hold the linter's configuration and the documents
// to their claims.
//
//   - Every package imports exactly what its line in tiers_test.go lists.
//   - Every coding rule is planted with a line that breaks it, and the linter finds
//     exactly those lines.
//   - Every test that docs/guarantees.md names exists, every direct dependency
//     has its line in docs/dependencies.md, and links between documents lead
//     somewhere.
//   - docs/api.txt lists what the public packages export; see package api.
//
// They need the linter that "make lint" builds.
package tools
