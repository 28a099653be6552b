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

// leastMessage is what a server must accept as one message: a value, and what
// stands around it.
const leastMessage = store.MaxValue + 1024

// A ServerError is returned when the server or the bucket is set up in a way
// that could lose registers. Nothing is written to it.
type ServerError struct {
	Bucket  string
	Setting string // as the stream's configuration has it
	Value   string // what it is
	Want    string // what it must be, and why
}

// Error names the setting, its value and what it must be.
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

// subjects are those of the whole bucket.
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

// judge returns a *ServerError if the bucket may drop a register, or change
// what is written to it. Limits are fine as long as a full bucket refuses what
// is new.
func (c Config) judge(s jetstream.StreamConfig) error {
	refuse := func(setting string, value any, want string) error {
		return &ServerError{Bucket: c.Bucket, Setting: setting, Value: fmt.Sprint(value), Want: want}
	}
	switch {
	case s.Storage != jetstream.FileStorage:
		return refuse("storage", s.Storage, "file: memory forgets")
	case s.Retention != jetstream.LimitsPolicy:
		return refuse("retention", s.Retention, "limits: the others drop what was consumed")
	case s.Discard != jetstream.DiscardNew:
		return refuse("discard", s.Discard, "new: a full bucket drops registers otherwise")
	case s.DiscardNewPerSubject:
		return refuse("discard_new_per_subject", true, "false: no register could be swapped")
	case s.MaxMsgsPerSubject != 1:
		return refuse("max_msgs_per_subject", s.MaxMsgsPerSubject, "1 (history 1): a register is its last message")
	case s.MaxAge != 0:
		return refuse("max_age", s.MaxAge, "0: registers do not expire")
	case s.SubjectDeleteMarkerTTL != 0:
		return refuse("subject_delete_marker_ttl", s.SubjectDeleteMarkerTTL, "0: registers do not expire")
	case s.AllowMsgTTL:
		return refuse("allow_msg_ttl", true, "false: registers do not expire")
	case s.PersistMode != jetstream.DefaultPersistMode:
		return refuse("persist_mode", "async", "default: the other acknowledges what even a crash of the server loses")
	case s.Mirror != nil:
		return refuse("mirror", s.Mirror.Name, "none: a mirror can't be written")
	case len(s.Sources) > 0:
		return refuse("sources", len(s.Sources), "none: others would write registers")
	case s.Sealed:
		return refuse("sealed", true, "false: it can't be written")
	case s.NoAck:
		return refuse("no_ack", true, "false: nothing would be acknowledged")
	case s.AllowMsgCounter:
		return refuse("allow_msg_counter", true, "false: values would be added up")
	case s.SubjectTransform != nil:
		return refuse("subject_transform", s.SubjectTransform.Destination, "none: keys would change")
	case !slices.Contains(s.Subjects, c.subjects()):
		return refuse("subjects", s.Subjects, fmt.Sprintf("[%s]", c.subjects()))
	case s.MaxMsgSize > 0 && s.MaxMsgSize < leastMessage:
		return refuse("max_msg_size", s.MaxMsgSize, fmt.Sprintf("-1, or at least %d", leastMessage))
	case s.Replicas < c.Replicas:
		return refuse("num_replicas", s.Replicas, fmt.Sprintf("at least %d, as the config asks", c.Replicas))
	}
	return nil
}
