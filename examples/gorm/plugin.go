package main

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/keys"
)

// Keys is a GORM plugin: db.Use(Keys{rules}). It gives a key to every struct that GORM creates
// without one, alone, in a batch or as the association of another. The rules must name each
// table's key, "orders.id", by the model's own table and column. The plugin runs before the
// model's hooks, so that BeforeCreate finds the key.
//
// An upsert (clause.OnConflict with DoNothing, DoUpdates or UpdateAll) may keep the row that is there, and its key.
// The struct then has a key that no row has. clause.Returning{} beside it gives the struct the row's own key, on
// PostgreSQL and MariaDB. Only DoNothing on PostgreSQL returns no row: read it by its other columns.
type Keys struct{ Rules *keys.Rules }

// Name is the plugin's name.
func (Keys) Name() string { return "snowfence:keys" }

// Initialize registers the plugin. GORM calls it.
func (k Keys) Initialize(db *gorm.DB) error {
	return db.Callback().Create().Before("gorm:before_create").Register(k.Name(), k.fill)
}

// fill mints the keys of one statement together.
func (k Keys) fill(db *gorm.DB) {
	s := db.Statement
	if db.Error != nil || s.Schema == nil || s.Schema.PrioritizedPrimaryField == nil {
		return // a table without one key, such as the one that joins two others
	}
	key := s.Schema.PrioritizedPrimaryField
	var unset []reflect.Value
	visit := func(row reflect.Value) {
		row = reflect.Indirect(row)
		if row.Kind() != reflect.Struct || !row.CanAddr() {
			_ = db.AddError(fmt.Errorf("create %s: %w: a key is given to structs behind a pointer", s.Schema.Table, gorm.ErrInvalidValue))
		} else if _, zero := key.ValueOf(s.Context, row); zero {
			unset = append(unset, row)
		}
	}
	if kind := s.ReflectValue.Kind(); kind == reflect.Slice || kind == reflect.Array {
		for i := range s.ReflectValue.Len() {
			visit(s.ReflectValue.Index(i))
		}
	} else {
		visit(s.ReflectValue)
	}
	ids := make([]snowfence.ID, len(unset))
	if db.Error != nil || db.AddError(k.Rules.Fill(s.Context, s.Schema.Table+"."+key.DBName, ids)) != nil {
		return
	}
	for i, row := range unset {
		_ = db.AddError(key.Set(s.Context, row, int64(ids[i])))
	}
	if len(s.Selects) > 0 { // of db.Select: the key is written, too
		s.Selects = slices.Concat(s.Selects, []string{key.Name})
	}
}
