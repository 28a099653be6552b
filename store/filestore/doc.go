// Package filestore is the embedded store: registers in a folder, for any number
// of processes of one host that share the folder. A swap is on the disk before it
// is acknowledged, through a crash of the process or of the machine.
//
// # What is in the folder
//
//	snowfence.store      says what the folder is and in which format
//	snowfence.lock       what writers lock; never renamed, never removed
//	registers/00 … ff    256 folders, a register's picked by a hash of its key
//	registers/ab/KEY.reg one register: its key, version, value and a checksum
//	registers/ab/+new    a swap under way, or what a crash left of one
//
// One file for each register is the simplest thing that is right. A swap writes one
// small file, however many registers there are; a read opens one file and takes no
// lock; nothing has to be replayed, compacted, or kept in memory. A million registers
// are some four thousand files a folder. A log would save one of the two fsyncs of a
// swap and lose all of that.
//
// # How a swap is made
//
// The writer locks snowfence.lock with flock. The kernel frees it when its holder
// dies, so it needs no age, and no process ever breaks it. A writer that is stopped
// while it holds the lock holds up the other writers until it goes on or is killed;
// their contexts end their waits. Under the lock the writer compares the version,
// writes the new register to a file beside the old one, fsyncs it, renames it over
// the old one and fsyncs the folder. Only then does it acknowledge.
//
// Between the rename and the last fsync others could read what a power failure
// would still take back. Therefore the writer first leaves a mark in the lock
// file that names the folder, and removes it last. A reader of a register of a
// marked folder waits for the writer. A process that gets the lock and finds a
// mark knows that its writer died half-way, fsyncs the folder itself and removes
// the mark. The mark needs no fsync of its own: a killed process leaves it, and
// after a power failure there is nothing left that it could speak of.
//
// A failed fsync ends the use of the [Store]. All later calls fail with
// [ErrFailed]; open the store again once the disk is well.
//
// Of a file's content no later success proves anything: the kernel reports a
// failure once, and may then drop what it could not write. So that swap is never
// made. Its new file was not renamed yet, and the next writer removes it.
//
// Of a folder a later success counts. The mark is still there, so the next reader or
// writer, in any process, must fsync the folder with success before anything in it
// counts. That rests on the file system. One with a journal or with
// copy-on-write (ext4, XFS, btrfs, ZFS, APFS) stops when it can't write its own
// structures: each later fsync fails, until it is mounted again and its journal
// tells what is there. One without (ext2, FAT, ext4 without its journal) may forget
// the failure, and does not rename atomically through a power failure either. It is
// no place for a store, and can't be told for certain.
//
// A file that is torn, foreign or of a newer format is an error that names it.
// Nothing is ever taken for absent because it cannot be read.
//
// # What to mind
//
// docs/engines.md is for operators: file systems and what they can do, and backups.
//
// Two folders are two stores, and two spaces of ids, on one host too. Processes that
// are to share one space open one folder, and run as one user: the folder is open to
// its owner alone. Never use a copy of a folder beside it, or let two hosts mount one
// block device. Network file systems are refused, and FUSE but for local block devices:
// their locks and caches do not keep the promises above.
//
// A restored backup is an old state: only the clock keeps new ids above those that were
// issued since. So restore with no process running, and check the clock first. To copy a
// folder, stop its processes, or take a snapshot that is atomic. A file system in memory,
// or a container's own layer, empties the store when it goes; [Store.Warnings] tells. A
// disk that loses what it has acknowledged takes durability away from everything above it.
package filestore
