//go:build servers

package main

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the drivers of the servers below
	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.mongodb.org/mongo-driver/v2/bson"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

// fencedWides returns ids of a holder's first term, with the worker id or with any, and their layout.
func fencedWides(t *testing.T, preset string, worker *int64) ([]snowfence.WideID, snowfence.Layout) {
	t.Helper()
	p, err := snowfence.PresetByName(preset)
	if err != nil {
		t.Fatal(err)
	}
	h, err := fence.Open(t.Context(), fence.Config{Store: memstore.New().Client(), Layout: p.Layout, Worker: worker})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]snowfence.WideID, 1000)
	if err := h.FillWide(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ids, p.Layout
}

// leastForMariaDB is the least worker id whose UUIDs MariaDB's type uuid takes: it refuses version 8 with a ninth byte of
// 0x80, which has the variant and the upper six bits of the worker id.
const leastForMariaDB = 1 << 14

func TestTypeUUIDOfMariaDBRefusesSmallWorkerIDs(t *testing.T) {
	t.Parallel()
	_, db := database(t, "mysql")
	for _, worker := range []int64{0, leastForMariaDB - 1, leastForMariaDB, 1<<20 - 1} {
		ids, _ := fencedWides(t, "uuid8", &worker)
		var got sql.NullString
		err := db.QueryRowContext(t.Context(), "select cast(cast('"+ids[0].String()+"' as uuid) as char)").Scan(&got)
		if err != nil || got.Valid != (worker >= leastForMariaDB) {
			t.Errorf("worker %d, %s: %v, %v", worker, ids[0], got, err)
		}
	}
}

func TestSQLServersReadFencedUUIDsBackByteForByte(t *testing.T) {
	t.Parallel()
	worker := int64(leastForMariaDB)
	ids, _ := fencedWides(t, "uuid8", &worker)
	asText := func(id snowfence.WideID) any { return id }
	asBytes := func(id snowfence.WideID) any { return id[:] }
	for scheme, columns := range map[string][]struct {
		column, text string // text is SQL for the server's own hexadecimal text
		give         func(snowfence.WideID) any
	}{
		"postgres": {{"uuid", "id::text", asText}},
		"mysql": {
			{"uuid", "cast(id as char)", asText},
			{"char(36)", "id", asText},
			{"binary(16)", "hex(id)", asBytes},
		},
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			_, db := database(t, scheme)
			insert := "insert into ids values (?)"
			if scheme == "postgres" {
				insert = "insert into ids values ($1)"
			}
			for _, c := range columns {
				if _, err := db.ExecContext(t.Context(), "create table ids (id "+c.column+" primary key)"); err != nil {
					t.Fatal(err)
				}
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					if _, err := tx.ExecContext(t.Context(), insert, c.give(id)); err != nil {
						t.Fatalf("%s: insert %s: %v", c.column, id, err)
					}
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				wantRows(t, db, c.column, "select id, "+c.text+" from ids order by ids.id", ids)
				if _, err := db.ExecContext(t.Context(), "drop table ids"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestMongoDBsLibraryReadsFencedObjectIDsBackByteForByte(t *testing.T) {
	t.Parallel()
	type document struct {
		ID bson.ObjectID `bson:"_id"`
	}
	ids, layout := fencedWides(t, "objectid", nil)
	for _, id := range ids {
		theirs, err := bson.ObjectIDFromHex(layout.Text(id))
		if err != nil || string(theirs[:]) != string(id[4:]) || theirs.Hex() != layout.Text(id) {
			t.Fatalf("%s is read as %s, %v", layout.Text(id), theirs, err)
		}
		parts, err := layout.DecomposeWide(id)
		if want := layout.TimeOf(parts.Tick); err != nil || !theirs.Timestamp().Equal(want) || time.Since(want).Abs() > time.Hour {
			t.Fatalf("%s is of %s to the library, and of %s to its layout, %v", theirs, theirs.Timestamp(), want, err)
		}
		written, err := bson.Marshal(document{theirs})
		// The document's length, the type 7, the name, the id, and the end.
		if want := fmt.Sprintf("\x16\x00\x00\x00\x07_id\x00%s\x00", id[4:]); err != nil || string(written) != want {
			t.Fatalf("%s is written as %x, want %x, %v", theirs, written, want, err)
		}
		var read document
		if err := bson.Unmarshal(written, &read); err != nil || read.ID != theirs {
			t.Fatalf("%s is read back as %s, %v", theirs, read.ID, err)
		}
	}
}

func TestGooglesLibraryReadsFencedUUIDsBackByteForByte(t *testing.T) {
	t.Parallel()
	ids, _ := fencedWides(t, "uuid8", nil)
	for _, id := range ids {
		theirs, err := uuid.Parse(id.String())
		if err != nil || theirs != uuid.UUID(id) || snowfence.WideID(theirs) != id || theirs.String() != id.String() {
			t.Fatalf("%s is read as %s, %v", id, theirs, err)
		}
		if theirs.Version() != 8 || theirs.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is of %s and variant %s", id, theirs.Version(), theirs.Variant())
		}
	}
}

// wantRows wants that a query returns ids in their order, each as it is read and as the server shows it.
func wantRows(t *testing.T, db *sql.DB, column, query string, ids []snowfence.WideID) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for ; rows.Next(); n++ {
		var id snowfence.WideID
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		if digits := strings.ToLower(strings.ReplaceAll(text, "-", "")); n >= len(ids) || id != ids[n] || digits != hex.EncodeToString(ids[n][:]) {
			t.Fatalf("%s: row %d is read as %s, and the server shows %s", column, n, id, text)
		}
	}
	if err := rows.Err(); err != nil || n != len(ids) {
		t.Fatalf("%s: %d rows of %d, %v", column, n, len(ids), err)
	}
}
