// Package journal keeps a holder's page in a folder of this machine. With the page the
// next process goes on with the holder's term while the store is away.
//
//	j, err := journal.Open(journal.Config{Dir: "/var/lib/ids/journal"})
//	holder, err := fence.Open(ctx, fence.Config{Store: s, Window: time.Hour, Journal: j})
//	…
//	err = holder.Close(ctx)
//	err = j.Close()
//
// docs/proof.md explains the page, and why a term may be resumed from it. This package
// promises three things. One process at a time has a page. A page is taken once. It is the
// last one that was kept: never an older copy, and never half of one. Where the journal
// can't be sure, it has no page. Then the holder asks the store, as without a journal.
//
// # What is in the folder
//
//	lock      locked by the owner with flock; never renamed, never removed
//	odd even  the last two entries, each written over the one before the other
//	consumed  the last entry that was taken, for people
//	refused-… an entry that could not be used, for people
//
// # How a page is kept
//
// An entry is a page, its number, the machine, and the stamp of the other file, which has
// the entry before it. It is written in place, over the older of the two entries, and
// fsynced. Then the stamp of its file is taken, for the next entry. So keeping a page costs
// one write and one fsync, and no rename. If the machine fails in the middle of the write,
// the checksum shows it, and the journal is refused as a whole.
//
// A failed fsync ends the journal's use for this process. The kernel reports a failure once
// and may drop the data, so no later success proves anything. This is so for a file's
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
// A file system notes by itself when a file was last changed (its ctime). No program can
// set that time. Every write, copy, restore, rename or link changes it, and with it the
// file's stamp. The newer entry has the stamp of the other file. So neither file can be
// replaced unnoticed, be it by another file or by an older copy of itself:
//
//   - The older file is touched: its stamp is not the one in the newer file.
//   - The newer file is replaced by an older copy: the stamp in that copy is not the stamp
//     of the other file any more.
//   - Both are replaced: the same holds for them.
//
// A copy in another folder or on another machine has other stamps, too.
//
// Times of change are as fine as the file system makes them, a few milliseconds on most. A
// file that is put back within that time is not recognised. A file system with whole
// seconds is refused.
//
// A change of a file's owner or mode touches it as well. Some set-ups change the folder's
// owner at each start (chown -R, or a volume with an fsGroup for every file). There the
// journal is refused each time.
//
// Copies below the file system have the same stamps: images and clones of a disk, snapshots
// that are rolled back. Against these an entry names the device's number and this run of
// the operating system. It is refused after a restart of the machine, unless
// [Config.AcrossReboots] is set.
//
// # What remains
//
// Three live clones of the journal are not recognised: a snapshot of a file system that is
// rolled back, or mounted under the same device number, under a running kernel; with
// AcrossReboots, an image of the disk that is started as the same machine; and a suspended
// machine that is started twice. They repeat ids as a live clone of a process does, until
// the store answers.
//
// The folder must be on a local disk whose fsync means what it says, as for the file store.
// A network file system is refused by its name, as there. So is a file system that may be
// one: FUSE, and the 9p and virtiofs of sandboxes. A block device that several machines
// mount can't be recognised.
//
// The folder holds no secret but the nonce of a claim. Only its owner may write to it: a
// program that can set the machine's clock and write to the folder can make a stamp.
package journal
