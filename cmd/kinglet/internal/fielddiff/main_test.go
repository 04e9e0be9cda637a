package fielddiff

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sortByText(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(fmt.Sprint(a.Old, a.New), fmt.Sprint(b.Old, b.New)))
	})
}
