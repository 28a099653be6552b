// Package journal keeps a holder's page in a folder of this machine. With the page the
// next process goes on with the holder's term while the store is away.
//
//	j, err := fence.OpenJournal("/var/lib/ids/journal")
//	holder, err := fence.Open(ctx, fence.Config{Store: s, Window: time.Hour, Journal: j})
//	…
//	err = holder.Close(ctx)
//	err = j.Close()
//
// Package fence describes the content of a page, and why a term may be resumed from it. This
// package promises that one process takes a page, once, and that it is the last one
// that was kept: never an older copy, and never half of one. Where it can't be sure
// it has no page, and the holder asks the store, as without a journal.
//
// # The folder
//
//	lock      locked by the owner with flock; never renamed, never removed
//	odd even  the last two entries, each written over the one before the other
//	consumed  the last entry that was taken, for people
//	refused-… the entries that could not be used, for people and for Peek
//
// # How a page is kept
//
// An entry is a page, its number, the machine, and the stamp of the file that
// holds the entry before it. It is written in place, over the older of the two
// entries, and fsynced; then the stamp of its file is taken, for the next. So keeping a page costs one
// write and one fsync. An entry half written when the machine fails has a wrong checksum, and the whole
// journal is refused.
//
// A failed fsync ends the journal's use for this process. The kernel reports a failure once
// and may drop the data, so later successes prove nothing. This is so for a file's
// content. A later fsync of the folder, which discards a page, counts: see package
// filestore.
//
// # How a page is taken
//
// The folder is locked. The newer of the two entries is checked. Its file is renamed, the
// folder is fsynced, and the other file is removed. Only then its page is returned. A
// process that crashes in between has issued nothing, and the next one finds no page.
//
// If the lock does not keep a second process out, the owner finds its files gone when it
// keeps its next page, or when it discards the journal. Both then return [ErrReplaced], and
// the holder's term ends below the ticks with which the second process goes on.
//
// # How a copy is recognised
//
// A file system notes by itself when a file was changed last (its ctime), and programs can't set that
// time. Whatever writes, copies, restores, renames or links a file changes it, and with it the file's
// stamp. The newer entry has the stamp of the other file. So neither file can be replaced unnoticed. A
// copy in another folder or on another machine has other stamps, too.
//
//   - The older file is touched: its stamp is not the one in the newer file.
//   - The newer file is replaced by an older copy: the stamp in that copy is not the stamp
//     of the other file any more.
//   - Both are replaced: the same holds for them.
//
// Changing a file's owner or mode touches it as well: where every start does so
// (chown -R, or a volume's fsGroup), the journal is refused each time.
//
// Copies below the file system have the same stamps: images and clones of a
// disk, snapshots that are rolled back. Against these an entry names the device's
// number and this run of the operating system, and is refused after a restart of
// the machine.
//
// # What remains
//
// Two live clones of the journal are not recognised. They repeat ids as a live clone of a
// process does, until the store answers.
//
//   - A snapshot of a file system that is rolled back, or mounted under the same device
//     number, under a running kernel.
//   - A suspended machine that is started twice.
//
// The folder has to be on a local disk whose fsync does what it reports, as for the
// file store; package disk has the refused ones. A block device that several
// machines mount can't be recognised.
//
// The only secret in the folder is the nonce of a claim. Other users must not be able to write it: who
// can set the machine's clock and write the folder can make a stamp.
package journal
