// Package filestore is the embedded store: registers in a folder, for any number
// of processes of one host that share the folder. A swap is on the disk before it
// is acknowledged, through a crash of the process or of the machine.
//
// # The folder
//
//	snowfence.store             marks the folder and its format
//	snowfence.lock -> registers a symbolic link, which keeps programs of format 1 out
//	registers/00 … ff           256 folders, a register's picked by a hash of its key
//	registers/ab/KEY.v/         one register; once there, this name stays
//	    W                       the content of version W: key, version, value, checksum
//	    V-W.head                empty: "W counts, and came after V"; always exactly one
//	registers/ab/KEY+X.new/     a register's first version, being made
//	registers/ab/KEY.reg        a register of format 1 that was not swapped since
//
// At rest a register is a folder with two files, the head and the content. A version is
// 128 random bits, so a head's name is made once and never again.
//
// # How a swap is made
//
// The writer writes and fsyncs the content of a new version X, and renames the head V-W to
// W-X. The rename checks and changes the version in one step: if another swap came first,
// the old name is gone, and the rename fails. Then the writer fsyncs the folder,
// acknowledges, and removes the files that it had listed before. So it removes only contents whose
// owners come too late. Each step is free of waiting for another process. Other processes go on when a
// process is stopped or killed at any step.
//
// The first swap of a register makes the whole folder under another name and renames that.
// A register of format 1 is converted so by its first swap.
//
// Between the rename and the last fsync others could read a version that a power failure would still
// take back. Therefore the file of the version before stays until the folder is fsynced. A reader or
// writer that finds it fsyncs the folder itself before it believes the head. The file is looked up by
// its name, because a listing may miss names that come meanwhile. A power failure before the fsync may
// leave the head without its content: then the version before counts, whose content is still there.
//
// Writers that are killed leave contents that no head names. The next swap removes them.
//
// # Format 1
//
// Open takes a folder of format 1 over. It waits for the lock of a program of format 1 that
// is just writing, and puts the symbolic link in the lock's place. Such a program then gets
// ErrReplaced from each call. There is no way back.
//
// # When the disk fails
//
// A failed fsync ends the use of the [Store]. All later calls fail with
// [ErrFailed]; open the store again once the disk is well.
//
// Of a file's content no later success proves anything: the kernel reports a
// failure once, and may then drop the unwritten data. So that swap stays unmade.
//
// Of a folder a later success counts. The version before is still there, so the next reader
// or writer, in any process, must fsync the folder with success before its head
// counts. That rests on the file system. One with a journal or with
// copy-on-write (ext4, XFS, btrfs, ZFS, APFS) stops when it can't write its own
// structures: each later fsync fails, until it is mounted again and its journal is replayed. One
// without (ext2, FAT, ext4 without its journal) may forget the failure, and does not rename atomically
// through a power failure either. It is no place for a store, and can't be recognised for certain.
//
// A file that is torn, foreign or of a newer format is an error that names it.
// Nothing is ever taken for absent because it cannot be read.
//
// # Limits
//
// docs/engines.md is for operators: the abilities of file systems, and backups.
//
// Two folders are two stores, and two spaces of ids, on one host too. Processes that
// are to share one space open one folder, and run as one user: the folder is open to
// its owner alone. Never use a copy of a folder beside it, or let two hosts mount one
// block device. File systems that are not known to be local are refused: the caches of network file
// systems do not keep the promises above.
//
// A restored backup is an old state: only the clock keeps new ids above the ids issued since. So
// restore while all processes are stopped, and check the clock first. To copy a folder, stop its
// processes, or take a snapshot that is atomic: a plain copy of a folder in use may hold registers that
// are refused as damaged. A file system in memory, or a container's own layer, empties the store when
// it goes; [Store.Warnings] shows it. A disk that loses acknowledged writes takes durability away from
// everything above it.
package filestore
