// Package churn keeps a number of deployments in a cluster and changes them at
// a given rate: rolls their pods, scales them, deletes pods and whole
// deployments, and makes new ones in their place. It gives watchers something
// to watch.
//
// It remembers nothing of what it made: each operation looks first.
package churn
