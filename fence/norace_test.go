//go:build !race

package fence_test

const underRace = false
