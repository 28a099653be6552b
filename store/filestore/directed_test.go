package filestore

import (
	"math/rand/v2"
	"testing"

	"snowfence.example/snowfence/internal/disk/modeldisk"
)

// directed runs a schedule many times. Chance chooses the content of listings and the loss of power
// failures, and nothing else.
func directed(t *testing.T, schedule func(w *world)) {
	t.Helper()
	for seed := range uint64(1000) {
		w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 8))}
		w.disk = modeldisk.New(w.pick)
		for _, b := range beginnings() {
			if b.name == "there" {
				b.prepare(w, w.disk.Process())
			}
		}
		schedule(w)
	}
}

// loseContent stops a writer before its folder is synced, and then power fails. The disk may keep the new head and lose its
// content.
func (w *world) loseContent() {
	writer := w.start("writer 1", w.disk, swaps(1))
	writer.before("rename", "sync folder")
	writer.stop()
	w.disk.LosePower(w.pick)
}

// TestSwapsWithinAListingOutliveALossOfPower makes one swap while a reader lists the folder,
// and half of another one. The listing may miss the version before, whose file is there.
func TestSwapsWithinAListingOutliveALossOfPower(t *testing.T) {
	directed(t, func(w *world) {
		reader := w.start("reader", w.disk, reads(1))
		reader.before("listed")
		w.start("writer 1", w.disk, swaps(1)).finish()
		writer := w.start("writer 2", w.disk, swaps(1))
		writer.before("rename", "sync folder")
		reader.finish()
		w.cut(w.disk, 1)
		writer.stop()
	})
}

// TestSwapAfterALossOfPowerOutlivesAnotherOne lets a power failure take the content of a
// version and leave its head. The next swap is made on the version before, and is read
// before its folder is synced.
func TestSwapAfterALossOfPowerOutlivesAnotherOne(t *testing.T) {
	directed(t, func(w *world) {
		w.loseContent()
		writer := w.start("writer 2", w.disk, swaps(1))
		writer.before("rename", "sync folder")
		w.start("reader", w.disk, reads(1)).finish()
		w.cut(w.disk, 1)
		writer.stop()
	})
}

// TestSwapBesideAReaderOfTheVersionBeforeIsNoDamage lets a power failure take the content of a version and leave its
// head. A reader looks for the version before, and a swap is made on it and clears it up meanwhile.
func TestSwapBesideAReaderOfTheVersionBeforeIsNoDamage(t *testing.T) {
	directed(t, func(w *world) {
		w.loseContent()
		reader := w.start("reader", w.disk, reads(1))
		reader.before("read", "read")
		w.start("writer 2", w.disk, swaps(1)).finish()
		reader.finish()
	})
}
