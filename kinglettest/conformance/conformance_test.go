package conformance_test

import (
	"testing"

	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

func TestClientGoKeepsItsContractAndShowsItsWeaknesses(t *testing.T) {
	conformance.Run(t, conformance.ClientGo(), conformance.Options{Expect: conformance.ClientGoBehaviour})
}
