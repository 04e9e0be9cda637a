// Package deliver holds the queue of changes that each handler has.
package deliver
