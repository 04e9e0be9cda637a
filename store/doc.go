// Package store keeps typed, indexed objects and hands out snapshots of them.
package store
