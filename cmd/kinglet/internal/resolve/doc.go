// Package resolve finds the collections that a person named: pods, po,
// deployments.apps, deployments.v1.apps, Deployment, all, custom resources.
// It asks discovery, through a RESTMapper that knows short names, as kubectl
// does.
package resolve
