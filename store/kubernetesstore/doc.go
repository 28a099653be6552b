// Package kubernetesstore keeps registers in the API server of a Kubernetes cluster, as Leases of
// coordination.k8s.io/v1. It keeps the contract of package store, as far as the cluster's etcd does.
//
//	kubernetes:///NAMESPACE?prefix=ids&kubeconfig=/etc/snowfence/kubeconfig&context=production
//
// docs/engines.md is for operators. Nothing rests on watches, on the Leases' times or on any clock. There is no
// [store.Clock]: the only time that an API server gives is a header with whole seconds, which may be of a proxy.
//
// A register is one Lease. Its name is the prefix, a dot and the key, with dots for slashes: ids.ns.default.worker.7.
// A key that makes no name has its hash there. Annotations hold the key, the value in quotes, a random token, and an id
// of the store, which a Lease by the name of the prefix has, too. A label has the prefix, for List.
//
// The [store.Version] is the token and the resourceVersion, which a restored etcd can repeat. Any write to the Lease
// makes the version another one, a label by kubectl too.
//
// HOLDER in kubectl's output is the host and the process id of the last writer, and renewTime is the time of its write,
// by its own clock. They are for people. Other fields would repeat the value, which this package does not read.
//
// The URL has no host. Without the keys kubeconfig and context, a pod uses its service account, and
// other programs use kubectl's configuration. The other keys are loss and durable=true.
package kubernetesstore
