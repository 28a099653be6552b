package kubernetesstore_test

import (
	"testing"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/store/kubernetesstore"
)

func FuzzParseURL(f *testing.F) {
	servertest.FuzzURLs(f, kubernetesstore.ParseURL, "kubernetes:///ids?prefix=a&loss=1s", "kubernetes://", "kubernetes:///ids?kubeconfig=/a&context=b")
}
