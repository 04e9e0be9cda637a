package conformance_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/internal/tests/parity"
	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

func TestClientGoKeepsItsContractAndShowsItsWeaknesses(t *testing.T) {
	conformance.Run(t, conformance.ClientGo(), conformance.Options{Expect: conformance.ClientGoBehaviour})
}

// brokenVariable tells a test that it is the child whose failure is wanted.
const brokenVariable = "KINGLET_CONFORMANCE_BROKEN"

func TestClientGoIsNotRightWhereItIsWeak(t *testing.T) {
	if os.Getenv(brokenVariable) != "" {
		conformance.Run(t, conformance.ClientGo(), conformance.Options{})
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$/^differences$", "-test.timeout=60s")
	child.Env = append(os.Environ(), brokenVariable+"=yes")
	output, err := child.CombinedOutput()
	if err == nil {
		t.Fatal("client-go passes as right")
	}
	for _, d := range conformance.Differences() {
		if !bytes.Contains(output, []byte("--- FAIL: "+t.Name()+"/differences/"+d.ID+" ")) {
			t.Errorf("client-go does what is right: %s", d.ID)
		}
	}
}

func TestMain(m *testing.M) {
	// The logs are not under test, and would fill the output.
	klog.SetLogger(klog.New(nil))
	goleak.VerifyTestMain(m)
}

var rewrite = flag.Bool("rewrite", false, "write the differences into package cache's doc.go, in place of comparing them")

func TestTheDocumentedDifferencesAreThoseThatTheSuiteTests(t *testing.T) {
	parity.Documented(t, "../../cache/doc.go", conformance.DifferencesDoc(), "// # Keys", *rewrite)
}
