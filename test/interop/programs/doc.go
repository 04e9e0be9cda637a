// Package programs runs whole programs, as people write them against
// client-go's tools/cache, on kinglet's package cache and on a real control
// plane:
//
//	make e2e
//
// Each differs from what would run on client-go by one import. The programs:
// client-go's informer factory with generated listers; a controller in the
// manner of Kubernetes' sample-controller (package website); a
// controller-runtime manager; dynamic and metadata informers of a resource
// whose definition comes, changes and goes. Their tests have the build tag
// e2e, since the control plane takes minutes to compile for the first time.
package programs
