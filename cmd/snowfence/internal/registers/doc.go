// Package registers shows what a store has of a namespace and its worker ids: as
// JSON for programs, and as text for people.
package registers
