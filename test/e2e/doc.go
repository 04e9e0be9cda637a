// Package e2e tests kinglet from end to end, on a real control plane:
//
//	make e2e
//
// Its tests have the build tag e2e, since the control plane takes minutes to
// compile for the first time.
package e2e
