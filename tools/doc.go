// Package tools holds the programs and tests that keep the house in order; it is not a part of the
// product: go.mod pins the linter, and the tests here hold the tree and the documents to their claims.
//
//   - Every package imports exactly what its line in tiers_test.go lists.
//   - Every test that docs/guarantees.md names exists, and links between documents lead somewhere.
//   - docs/api.txt lists what the public packages export; see package api.
package tools
