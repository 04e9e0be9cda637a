// Package website is a controller in the manner of Kubernetes'
// sample-controller: informers fill a work queue, workers take from it, make a
// Deployment for every Website, and write to the Website's status how it is
// doing. It is written against client-go's names throughout; that it runs on
// kinglet shows in one import only.
package website
