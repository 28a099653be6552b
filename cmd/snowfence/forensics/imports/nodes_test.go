package imports

import (
	"testing"
	"time"
)

func TestNodeNamesSayTheWorkerID(t *testing.T) {
	tests := []struct {
		read   func(string) (int64, bool)
		name   string
		worker int64
		ok     bool
	}{
		{leafNode, "10.0.0.1:8080-0000000000", 0, true},
		{leafNode, "10.0.0.1:8080-0000001023", 1023, true},
		{leafNode, "host-a:8080-0000000007", 7, true},
		{leafNode, "10.0.0.1:8080-2147483647", 2147483647, true},
		{leafNode, "10.0.0.1:8080--000000001", 0, false}, // ZooKeeper's counter overflowed
		{leafNode, "10.0.0.1:8080-7", 0, false},
		{leafNode, "-0000000007", 0, false},
		{leafNode, "10.0.0.1:8080", 0, false},
		{leafNode, "10.0.0.1:8080-00000000x7", 0, false},
		{recyclableNode, "workId:0", 0, true},
		{recyclableNode, "workId:1024", 1024, true},
		{recyclableNode, "workId:", 0, false},
		{recyclableNode, "workId:-1", 0, false},
		{recyclableNode, "workId:+1", 0, false},
		{recyclableNode, "workid:1", 0, false},
		{recyclableNode, "1", 0, false},
		{number, "31", 31, true},
		{number, "", 0, false},
		{number, "dc_1", 0, false},
		{number, "99999999999999999999", 0, false},
	}
	for _, test := range tests {
		worker, ok := test.read(test.name)
		if ok != test.ok || ok && worker != test.worker {
			t.Errorf("%q: %d, %v; want %d, %v", test.name, worker, ok, test.worker, test.ok)
		}
	}
}

func TestUploadsAreReadAsLeafWritesThem(t *testing.T) {
	at := time.UnixMilli(1567733700834).UTC()
	tests := []struct {
		data string
		last time.Time
		ok   bool
	}{
		{`{"ip":"10.0.0.1","port":"8080","timestamp":1567733700834}`, at, true},
		{`{"workId":2,"lastUsedIp":"10.0.0.1","lastUsedPort":"8080","lastUsedTimestamp":1567733700834}`, at, true},
		{`{"workId":2,"lastUsedIp":null,"lastUsedPort":null,"lastUsedTimestamp":null}`, time.Time{}, true},
		{`{"ip":"10.0.0.1","port":"8080","timestamp":0}`, time.Time{}, true},
		{`{"timestamp":"1567733700834"}`, time.Time{}, false},
		{`{"workId":3,"lastUsedTimestamp":1567733700834}`, time.Time{}, false},
		{``, time.Time{}, false},
		{`10.0.0.1:8080`, time.Time{}, false},
	}
	for _, test := range tests {
		last, err := readUpload([]byte(test.data), 2)
		if (err == nil) != test.ok || err == nil && !last.Equal(test.last) {
			t.Errorf("%s: %v, %v", test.data, last, err)
		}
	}
}
