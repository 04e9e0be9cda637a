package workqueue_test

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/parity"
)

func TestEverythingThatClientGosPackageExportsIsHere(t *testing.T) {
	parity.Compare{
		Ours:    "github.com/kinglet-go/kinglet/workqueue",
		Theirs:  "k8s.io/client-go/util/workqueue",
		AtLeast: 90,
	}.Run(t)
}
