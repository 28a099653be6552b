package mutants

// onDisk lists bugs of the file store, each a precaution that is left out. Schedules on a
// model disk find them.
var onDisk = places{
	"store/filestore/swap.go": {
		"filestore: the content is not synced": {
			old: "if err := f.Sync(); err != nil {",
			new: "if err := error(nil); err != nil {",
		},
		"filestore: a swap is acknowledged before its folder is synced": {
			old: "\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
			new: "\tif r.fresh {",
		},
		"filestore: a swap clears up before its folder is synced": {
			old: "\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
			new: "\ts.clear(r.path, append(r.names, next.before))\n\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
		},
		"filestore: a swap clears what is listed after its rename": {
			old: "\ts.clear(r.path, append(r.names, next.before))\n",
			new: "\tnames, _ := s.disk.Names(r.path)\n\tfor _, n := range names {\n\t\tif n != next.after && len(n) <= 40 {\n\t\t\ts.clear(r.path, []string{n})\n\t\t}\n\t}\n",
		},
		"filestore: a swap names a version before it that is not there": {
			old: "head{string(r.entry.Version), name}",
			new: "head{r.head.after, name}",
		},
		"filestore: the folder of a first version is not synced": {
			old: "err = s.sync(made)\n",
			new: "err = nil\n",
		},
		"filestore: the folder of a first version has no mark": {
			old: "[]string{first.name(), first.before}",
			new: "[]string{first.name()}",
		},
		"filestore: a first swap is acknowledged before its folder's name is synced": {
			old: "\tif err := s.syncFolder(folder); err != nil {\n\t\treturn err\n\t}\n\ts.tidy(key)\n",
			new: "\ts.tidy(key)\n",
		},
		"filestore: a swap whose head is gone counts as made": {
			old: "\t\treturn errChanged\n\t}\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := s.syncFolder(r.path)",
			new: "\t\treturn nil\n\t}\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := s.syncFolder(r.path)",
		},
	},
	"store/filestore/register.go": {
		"filestore: what is read can be lost": {
			old: "return r, s.settle(&r)",
			new: "return r, nil",
		},
		"filestore: a version is read from a folder that is synced, below one that is not": {
			old: "return s.syncFolder(shardOf(r.entry.Key).folder())",
			new: "return nil",
		},
		"filestore: a content that a power failure took is damage": {
			old: "r.entry, err = s.readBefore(key, r.head)",
			new: "err = damaged(r.path, \"it is missing\")",
		},
		"filestore: a folder that shows no head is damaged at once": {
			old: "\tif heads != 1 {\n\t\treturn register{}, errChanged\n",
			new: "\tif heads != 1 {\n\t\treturn register{}, damaged(r.path, \"it has no head\")\n",
		},
		"filestore: the version before is looked for in the listing": {
			old: "\tmark, err := s.disk.Read(r.path+\"/\"+r.head.before, 1)\n",
			new: "\tlisted := false\n\tfor _, name := range r.names {\n\t\tlisted = listed || name == r.head.before\n\t}\n\tif !listed {\n\t\treturn nil\n\t}\n\tmark, err := s.disk.Read(r.path+\"/\"+r.head.before, 1)\n",
		},
		"filestore: a register that is converted meanwhile is absent": {
			old: "\t\t\tmissing = true\n",
			new: "\t\t\treturn register{}, nil\n",
		},
	},
	"store/filestore/prepare.go": {
		"filestore: the marker of a new format is put before the registers of the old one are synced": {
			old:  "err = s.settleShards()",
			new:  "err = nil",
			test: "TestPreparationSyncsWhatAWriterOfFormat1HasRenamed",
		},
		"filestore: the lock of an earlier version is replaced while it is held": {
			old:  "if err != nil || !locked {",
			new:  "if _ = locked; err != nil {",
			test: "TestTakeoverWaitsForALockOfFormat1AndItsContextEndsTheWait",
		},
		"filestore: the lock of an earlier version is removed, and can be made again": {
			old:  "err = s.disk.Rename(link, lockName)",
			new:  "err = s.disk.Remove(lockName)",
			test: "TestProgramOfFormat1IsShutOut",
		},
	},
}.mutants("", "TestNoScheduleOnTheModelDiskLosesOrRepeatsASwap")
