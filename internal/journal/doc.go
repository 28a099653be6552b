// Package journal keeps a holder's page in a folder of this machine, so that the
// next process can go on with its term while the store is away.
//
//	j, err := journal.Open(journal.Config{Dir: "/var/lib/ids/journal"})
//	holder, err := fence.Open(ctx, fence.Config{Store: s, Window: time.Hour, Journal: j})
//	…
//	err = holder.Close(ctx)
//	err = j.Close()
//
// What the page says, and why a term may be resumed from it, is told by package
// fence. This package promises that a page is had by one process at a time, that
// it is had once, and that it is the last one that was kept: never an older one
// that somebody copied, and never half of one. Where it can't be sure it has no
// page. Then the holder asks the store, as without a journal.
//
// # What is in the folder
//
//	lock      locked by the owner with flock; never renamed, never removed
//	odd even  the last two entries, each written over the one before the other
//	consumed  the entry that was taken last, for people
//	refused-… what was found and could not be used, for people
//
// # How a page is kept
//
// An entry is a page, its number, the machine, and the stamp of the file that
// holds the entry before it. It is written in place, over the older of the two
// entries, and fsynced; then the stamp of its file is taken, for the next. So
// keeping a page costs one write and one fsync, and no rename. If the machine
// fails in the middle of it, what was half written is found by its checksum, and
// the journal is refused as a whole.
//
// An fsync that failed ends the journal's use for this process. The kernel tells
// of a failure once and may drop what it could not write, so no later success
// proves anything. That is about a file's content. A later fsync of the folder, by
// which a page is discarded, counts: see package filestore.
//
// # How a page is taken
//
// The folder is locked. The newer of the two entries is checked; its file is
// renamed and the folder fsynced; the other one is removed. Only then its page
// is returned. A process that crashes in between has issued nothing, and the next
// one finds no page.
//
// Should the lock fail to keep a second process out, the owner finds its files
// gone when it keeps its next page, or when it discards the journal. Both then
// return [ErrReplaced], and the holder's term ends below what the second goes on
// from.
//
// # How a copy is told
//
// A file system notes by itself when a file was changed last (its ctime), and
// offers no way to set that. Whatever writes, copies, restores, renames or
// links a file changes it, and with it the file's stamp. The newer entry has the
// stamp of the other file. So neither file can be replaced unnoticed, neither by
// a stranger nor by what it was itself a second ago: if the older file is
// touched, its stamp is not the one in the newer; if the newer is replaced by an
// older copy of itself, the stamp in that copy is not the other file's any more;
// and if both are, the same holds for them. A copy in another folder or on
// another machine has other stamps, too.
//
// Times of change are as fine as a file system makes them: a few milliseconds on
// most, and what is put back within that after it was written is not told. A file
// system that has whole seconds only is refused.
//
// What changes a file's owner or mode touches it as well. Where a folder is
// given to its user anew at each start (chown -R, or a volume whose fsGroup is
// applied to every file), the journal is refused each time.
//
// Copies below the file system have the same stamps: images and clones of a
// disk, snapshots that are rolled back. Against these an entry names this run of
// the operating system, and is refused after a restart of the machine unless
// [Config.AcrossReboots] is set; and the device's number.
//
// # What remains
//
// A snapshot of a file system that is rolled back, or mounted under the same
// device number, under a running kernel; with AcrossReboots, an image of the
// disk that is started as the same machine; and a suspended machine that is
// started twice: these are live clones of the journal, and repeat ids as a live
// clone of a process does, until the store is heard.
//
// The folder has to be on a local disk whose fsync means what it says, as for the
// file store. A network file system is refused by its name, as there, and so is what
// might be one: FUSE, and the 9p and virtiofs of sandboxes. A block device that
// several machines mount can't be recognised.
//
// The folder holds no secret but the nonce of a claim, and is to be writable by
// nobody else: who can set the machine's clock and write the folder can make a
// stamp.
package journal
