// Package check finds ids that occur more than once, within and between sources,
// and explains why, as far as the ids show it.
//
// It promises to be exact: it finds every duplicate, guesses none, and names each with
// the sources and the places where it stands, streams included. It works in bounded
// memory: package idsort sorts the ids.
//
// There are three causes: one worker id in two sources, a clock that was set back, and
// copied rows. Each comes with the numbers that show it. Where two causes look alike, or
// none fits, the duplicates are undecided. Ids that look rounded come before all causes.
package check
