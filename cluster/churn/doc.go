// Package churn keeps a number of deployments in a cluster and changes them at
// a given rate: rolls their pods, scales them, deletes pods and whole
// deployments, and makes new ones in their place. It gives watchers something
// to watch.
//
// What to do next is decided by a plan that knows no clock and no cluster
// (plan.go); [Churn] carries it out at its pace. A plan learns what has happened only
// when it has: an operation that fails is not assumed.
package churn
