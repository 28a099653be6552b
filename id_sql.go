package snowfence

import (
	"database/sql/driver"
	"fmt"
)

// Value hands the id to a database as a signed 64-bit integer, for BIGINT columns. It
// implements [driver.Valuer] and never fails.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an id from a database. It takes the 64 bits of an integer as they are, and
// reads a text as [Parse] does. It implements [database/sql.Scanner]. An *[IDError] is
// returned for anything else. NULL needs a [NullID], and floating point can't hold every id.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		*id = ID(v)
		return nil
	case uint64: // MySQL's unsigned columns
		*id = ID(v)
		return nil
	case []byte:
		return id.UnmarshalText(v)
	case string:
		return id.UnmarshalText([]byte(v))
	case nil:
		return &IDError{"database value", "NULL", -1, "NULL is no id; scan it into a NullID"}
	}
	return newIDError("database value", fmt.Sprint(src), -1, fmt.Sprintf("a %T can't hold an id", src))
}

// NullID is an [ID] that may be missing: NULL in a database, null in JSON.
type NullID struct {
	ID    ID   // 0 when not Valid
	Valid bool // whether there is an id
}

// Value returns the id as [ID.Value] does, or nil when there is none.
func (n NullID) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil
	}
	return n.ID.Value()
}

// Scan reads NULL, or an id as [ID.Scan] does, with its errors.
func (n *NullID) Scan(src any) error {
	if src == nil {
		*n = NullID{}
		return nil
	}
	return n.set(n.ID.Scan(src))
}

// MarshalJSON writes null, or the id as [ID.MarshalJSON] does.
func (n NullID) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return n.ID.MarshalJSON()
}

// UnmarshalJSON reads null, or an id as [ID.UnmarshalJSON] does, with its
// errors.
func (n *NullID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = NullID{}
		return nil
	}
	return n.set(n.ID.UnmarshalJSON(data))
}

// set makes n valid if its id could be read.
func (n *NullID) set(err error) error {
	if err == nil {
		n.Valid = true
	}
	return err
}
