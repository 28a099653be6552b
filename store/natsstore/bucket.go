package natsstore

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/store"
)

// bucketJSON are the settings of a new bucket that do not depend on its name.
//
//go:embed bucket.json
var bucketJSON []byte

// leastMessage is the smallest limit of one message that a server may have: a value, and its frame.
const leastMessage = store.MaxValue + 1024

// A ServerError is returned when the server or the bucket is set up in a way
// that could lose registers. Nothing is written to it.
type ServerError struct {
	Bucket  string
	Setting string // as the stream's configuration has it
	Value   string // what it is
	Want    string // its required value, and why
}

// Error names the setting, its value and the required value.
func (e *ServerError) Error() string {
	return fmt.Sprintf("bucket %q: %s is %s: must be %s", e.Bucket, e.Setting, e.Value, e.Want)
}

// BucketJSON returns the configuration of the stream behind the bucket, for
// operators who make it by hand: nats stream add --config FILE. Open makes it
// in this way if it may. An error is returned for a config that can't be used.
func BucketJSON(c Config) (string, error) {
	c, err := c.withDefaults()
	if err != nil {
		return "", err
	}
	settings, err := c.newBucket()
	if err != nil {
		return "", fmt.Errorf("natsstore: %w", err)
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return "", fmt.Errorf("natsstore: encode bucket: %w", err)
	}
	return string(text) + "\n", nil
}

// stream is the name of the stream behind the bucket.
func (c Config) stream() string { return "KV_" + c.Bucket }

// subjects are all subjects of the bucket.
func (c Config) subjects() string { return "$KV." + c.Bucket + ".>" }

// subject begins the subjects of all registers.
func (c Config) subject() string { return "$KV." + c.Bucket + "." + c.Prefix + "." }

// newBucket returns the settings of a bucket that is to be made.
func (c Config) newBucket() (jetstream.StreamConfig, error) {
	var settings jetstream.StreamConfig
	if err := json.Unmarshal(bucketJSON, &settings); err != nil {
		return settings, fmt.Errorf("decode bucket.json: %w", err)
	}
	settings.Name = c.stream()
	settings.Subjects = []string{c.subjects()}
	settings.Replicas = max(c.Replicas, 1)
	return settings, nil
}

// judge returns a *ServerError if the bucket may drop or change a register. Limits are fine as long as
// a full bucket refuses new messages.
func (c Config) judge(s jetstream.StreamConfig) error {
	for _, x := range []struct {
		setting string
		unfit   bool
		value   any
		want    string
	}{
		{"storage", s.Storage != jetstream.FileStorage, s.Storage, "file: memory forgets"},
		{"retention", s.Retention != jetstream.LimitsPolicy, s.Retention, "limits: the others drop consumed messages"},
		{"discard", s.Discard != jetstream.DiscardNew, s.Discard, "new: a full bucket drops registers otherwise"},
		{"discard_new_per_subject", s.DiscardNewPerSubject, true, "false: registers could not be swapped"},
		{"max_msgs_per_subject", s.MaxMsgsPerSubject != 1, s.MaxMsgsPerSubject, "1 (history 1): a register is its last message"},
		{"max_age", s.MaxAge != 0, s.MaxAge, "0: registers do not expire"},
		{"subject_delete_marker_ttl", s.SubjectDeleteMarkerTTL != 0, s.SubjectDeleteMarkerTTL, "0: registers do not expire"},
		{"allow_msg_ttl", s.AllowMsgTTL, true, "false: registers do not expire"},
		{"persist_mode", s.PersistMode != jetstream.DefaultPersistMode, "async", "default: the other acknowledges writes that even a crash of the server loses"},
		{"mirror", s.Mirror != nil, "set", "none: a mirror can't be written"},
		{"sources", len(s.Sources) > 0, len(s.Sources), "none: others would write registers"},
		{"sealed", s.Sealed, true, "false: it can't be written"},
		{"no_ack", s.NoAck, true, "false: nothing would be acknowledged"},
		{"allow_msg_counter", s.AllowMsgCounter, true, "false: values would be added up"},
		{"subject_transform", s.SubjectTransform != nil, "set", "none: keys would change"},
		{"subjects", !slices.Contains(s.Subjects, c.subjects()), s.Subjects, fmt.Sprintf("[%s]", c.subjects())},
		{"max_msg_size", s.MaxMsgSize > 0 && s.MaxMsgSize < leastMessage, s.MaxMsgSize, fmt.Sprintf("-1, or at least %d", leastMessage)},
		{"num_replicas", s.Replicas < c.Replicas, s.Replicas, fmt.Sprintf("at least %d, as the config asks", c.Replicas)},
	} {
		if x.unfit {
			return &ServerError{Bucket: c.Bucket, Setting: x.setting, Value: fmt.Sprint(x.value), Want: x.want}
		}
	}
	return nil
}
