// Package schema is what ent generates its code from: one table, whose key is a number that the
// program sets.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
)

// Order is the schema of the table orders.
type Order struct{ ent.Schema }

// Mixin gives orders their key.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{Key{}} }

// Fields are the columns besides the key.
func (Order) Fields() []ent.Field { return []ent.Field{field.String("customer")} }

// Key is the mixin of every schema with such a key: a column id, which the database does not count.
// It is a plain int64. By ent 0.14, keys with a Scan method of their own fail in a bulk on
// PostgreSQL, and on MySQL the bulk returns others than it wrote.
type Key struct{ mixin.Schema }

// Fields is the key alone.
func (Key) Fields() []ent.Field {
	counts := false
	return []ent.Field{
		field.Int64("id").Immutable().Annotations(entsql.Annotation{Incremental: &counts}),
	}
}
