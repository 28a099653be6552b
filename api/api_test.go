package api_test

import (
	"bytes"
	"testing"

	"snowfence.example/snowfence/api"
)

func TestOpenAPIDocumentIsTheCallersOwn(t *testing.T) {
	document := api.OpenAPI()
	if !bytes.HasPrefix(document, []byte("openapi: 3.1.0\n")) {
		t.Fatalf("the document begins with %q", document[:min(len(document), 20)])
	}
	clear(document)
	if !bytes.HasPrefix(api.OpenAPI(), []byte("openapi: 3.1.0\n")) {
		t.Error("a caller changed the document of the others")
	}
}
