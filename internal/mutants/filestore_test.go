package mutants

const (
	heads    = "store/filestore/register.go"
	swapping = "store/filestore/swap.go"
)

// onDisk lists bugs of the file store, each a precaution that is left out. Schedules on a
// model disk find them.
var onDisk = scheduled([]mutant{
	{
		name: "filestore: the content is not synced",
		file: swapping,
		old:  "if err := f.Sync(); err != nil {",
		new:  "if err := error(nil); err != nil {",
	},
	{
		name: "filestore: a swap is acknowledged before its folder is synced",
		file: swapping,
		old:  "\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
		new:  "\tif r.fresh {",
	},
	{
		name: "filestore: what is read can be lost",
		file: heads,
		old:  "return r, s.settle(&r)",
		new:  "return r, nil",
	},
	{
		name: "filestore: a version is read from a folder that is synced, below one that is not",
		file: heads,
		old:  "return s.syncFolder(shardOf(r.entry.Key).folder())",
		new:  "return nil",
	},
	{
		name: "filestore: a swap clears up before its folder is synced",
		file: swapping,
		old:  "\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
		new:  "\ts.clear(r.path, append(r.names, next.before))\n\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
	},
	{
		name: "filestore: a swap clears what is listed after its rename",
		file: swapping,
		old:  "\ts.clear(r.path, slices.DeleteFunc(append(r.names, next.before), func(name string) bool { return name == next.after }))\n",
		new:  "\tnames, _ := s.disk.Names(r.path)\n\ts.clear(r.path, slices.DeleteFunc(names, func(n string) bool { return n == next.after || len(n) > 40 }))\n",
	},
	{
		name: "filestore: a sweep removes what others are about to name",
		file: swapping,
		old:  "\terr := s.disk.Rename(r.path+\"/\"+r.head.name(), r.path+\"/\"+next.name())\n",
		new:  "\terr := error(nil)\n\tif content != nil {\n\t\terr = s.disk.Rename(r.path+\"/\"+r.head.name(), r.path+\"/\"+next.name())\n\t}\n",
	},
	{
		name: "filestore: the mark of a sweep is a content of another writer",
		file: swapping,
		old:  "head{name, r.head.after}",
		new:  "head{slices.MaxFunc(r.names, func(a, b string) int {\n\t\tif a == r.head.after {\n\t\t\treturn -1\n\t\t}\n\t\tif b == r.head.after {\n\t\t\treturn 1\n\t\t}\n\t\treturn cmp.Compare(a, b)\n\t}), r.head.after}",
		test: "TestNoScheduleOnTheModelDiskLosesOrRepeatsASwap/crowded",
	},
	{
		name: "filestore: a sweep clears up before its folder is synced",
		file: swapping,
		old:  "\tif err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
		new:  "\tif content == nil {\n\t} else if err := s.syncFolder(r.path); err != nil {\n\t\treturn err\n\t}\n\tif r.fresh {",
		test: "TestNoScheduleOnTheModelDiskLosesOrRepeatsASwap/crowded",
	},
	{
		name: "filestore: a content that a power failure took is damage",
		file: heads,
		old:  "r.entry, err = s.readBefore(key, r.head)",
		new:  "err = damaged(r.path, \"it is missing\")",
	},
	{
		name: "filestore: a swap names a version before it that is not there",
		file: swapping,
		old:  "head{string(r.entry.Version), name}",
		new:  "head{r.head.after, name}",
	},
	{
		name: "filestore: a folder that shows no head is damaged at once",
		file: heads,
		old:  "\tif heads != 1 {\n\t\treturn register{}, errChanged\n",
		new:  "\tif heads != 1 {\n\t\treturn register{}, damaged(r.path, \"it has no head\")\n",
	},
	{
		name: "filestore: the version before is looked for in the listing",
		file: heads,
		old:  "\tmark, err := s.disk.Read(r.path+\"/\"+r.head.before, 1)\n",
		new:  "\tlisted := false\n\tfor _, name := range r.names {\n\t\tlisted = listed || name == r.head.before\n\t}\n\tif !listed {\n\t\treturn nil\n\t}\n\tmark, err := s.disk.Read(r.path+\"/\"+r.head.before, 1)\n",
	},
	{
		name: "filestore: the folder of a first version is not synced",
		file: swapping,
		old:  "err = s.sync(made)\n",
		new:  "err = nil\n",
	},
	{
		name: "filestore: the folder of a first version has no mark",
		file: swapping,
		old:  "[]string{first.name(), first.before}",
		new:  "[]string{first.name()}",
	},
	{
		name: "filestore: a first swap is acknowledged before its folder's name is synced",
		file: swapping,
		old:  "\tif err := s.syncFolder(folder); err != nil {\n\t\treturn err\n\t}\n\ts.tidy(key)\n",
		new:  "\ts.tidy(key)\n",
	},
	{
		name: "filestore: a register that is converted meanwhile is absent",
		file: heads,
		old:  "\t\t\tmissing = true\n",
		new:  "\t\t\treturn register{}, nil\n",
	},
	{
		name: "filestore: a swap whose head is gone counts as made",
		file: swapping,
		old:  "\t\treturn errChanged\n\t}\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := s.syncFolder(r.path)",
		new:  "\t\treturn nil\n\t}\n\tif err != nil {\n\t\treturn err\n\t}\n\tif err := s.syncFolder(r.path)",
	},
	{
		name: "filestore: the marker of a new format is put before the registers of the old one are synced",
		file: "store/filestore/prepare.go",
		old:  "err = s.settleShards()",
		new:  "err = nil",
		test: "TestPreparationSyncsWhatAWriterOfFormat1HasRenamed",
	},
	{
		name: "filestore: the lock of an earlier version is replaced while it is held",
		file: "store/filestore/prepare.go",
		old:  "if err != nil || !locked {",
		new:  "if _ = locked; err != nil {",
		test: "TestTakeoverWaitsForALockOfFormat1AndItsContextEndsTheWait",
	},
	{
		name: "filestore: the lock of an earlier version is removed, and can be made again",
		file: "store/filestore/prepare.go",
		old:  "err = s.disk.Rename(link, lockName)",
		new:  "err = s.disk.Remove(lockName)",
		test: "TestProgramOfFormat1IsShutOut",
	},
})

func scheduled(mutants []mutant) []mutant {
	for i := range mutants {
		if mutants[i].test == "" {
			mutants[i].test = "TestNoScheduleOnTheModelDiskLosesOrRepeatsASwap"
		}
	}
	return mutants
}
