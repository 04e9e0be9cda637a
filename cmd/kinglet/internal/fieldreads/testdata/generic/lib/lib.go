// Package lib has a generic function of the program in another package.
package lib

import "fmt"

// Show reads everything.
func Show[T any](t T) { fmt.Println(t) }
