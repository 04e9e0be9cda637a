package conformance_test

import (
	"fmt"

	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

// An implementation begins as client-go's and takes over one function after
// the other.
func ExampleImplementation() {
	im := conformance.ClientGo()
	im.Name = "mine"
	// im.NewStore = func(key cache.KeyFunc) cache.Store { return mine.NewStore(key) }
	// conformance.Run(t, im, conformance.Options{Rows: []string{"store"}})
	fmt.Println(im.Name, "has", len(conformance.Rows()), "rows to keep")
	// Output: mine has 8 rows to keep
}
