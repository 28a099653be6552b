// Package kubernetesstore keeps registers in the API server of a Kubernetes cluster, as Leases of
// coordination.k8s.io/v1. It promises what package store asks for, as far as the cluster's etcd does: an acknowledged
// swap was agreed upon by a majority of its members.
//
//	kubernetes:///NAMESPACE?prefix=ids
//	kubernetes:///NAMESPACE?kubeconfig=/etc/snowfence/kubeconfig&context=production
//
// docs/engines.md is for operators: the rights, what can go wrong, the load on the API server, and backups.
//
// # What the cluster needs
//
//   - An etcd whose members sync, as they do by default. It can't be seen through the API server. Of a cluster whose
//     objects are elsewhere, such as in a database that fails over, say loss=.
//   - Nothing in between that answers requests from a cache. Each request has an Audit-Id of its own, which the API
//     server repeats. Open and every call refuse an answer with another one.
//   - Nobody who deletes Leases, or restores an etcd while holders or API servers run.
//
// Nothing here rests on watches, on the Leases' times or on any clock. There is no [store.Clock]: the only time that
// an API server tells is a header with whole seconds, which is too coarse to judge a clock by.
//
// # Storage
//
// A register is one Lease. Its name is the prefix, a dot and the key, with dots for slashes: ids.ns.default.worker.7.
// A key that makes no name has its hash there. Annotations hold the key, the value and a random token; a value that is
// no plain text is in base64. A label has the prefix, for List. The Lease named like the prefix is the anchor; see
// [Store.Get].
//
// HOLDER in kubectl's output is the host and the process id of the last writer, and renewTime is the time of its write,
// by its own clock. The other fields stay empty: their values are within the register's value, which this package
// does not read. Nothing reads these fields but people.
//
// The [store.Version] is the token and the resourceVersion. A restored etcd counts its revisions again, so that a
// resourceVersion alone repeats. Any write to the Lease makes the version another one, a label by kubectl too.
//
// # Outcomes
//
// Reads ask for no resourceVersion, so that they come from etcd or from a cache that has caught up with it. A swap is
// sent once. A read is sent again only if the server was too busy (429). When the server asks for a pause, no request
// of this store is sent meanwhile.
//
// # The URL
//
// It has no host. Without the keys kubeconfig and context, a pod uses its service account, and other programs what
// kubectl would use. A service account's token is read for each request, since it is replaced within hours. The other
// keys are service-account, the folder of its files, and loss.
package kubernetesstore
