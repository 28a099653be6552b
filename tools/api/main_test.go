package main

import (
	"os"
	"testing"
)

func TestPageOfThePublicFaceIsUpToDate(t *testing.T) {
	want, err := face(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile("../../docs/api.txt"); err != nil || string(page) != want {
		t.Errorf("docs/api.txt is not what the packages export (%v): run make api, and read its changes", err)
	}
}
