package cache_test

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/parity"
)

func TestEverythingThatClientGosPackageExportsIsHere(t *testing.T) {
	parity.Compare{
		Ours:   "github.com/kinglet-go/kinglet/cache",
		Theirs: "k8s.io/client-go/tools/cache",
		Exceptions: map[string]string{
			"StoreOption":           "a function of a type that is not exported, so programs only pass it on",
			"ThreadSafeStoreOption": "the same",
		},
		AtLeast: 100,
	}.Run(t)
}
