package conformance_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"slices"
	"testing"

	"go.uber.org/goleak"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/internal/tests/parity"
	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

func TestClientGoKeepsItsContractAndShowsItsWeaknesses(t *testing.T) {
	conformance.Run(t, conformance.ClientGo(), conformance.Options{Expect: conformance.ClientGoBehaviour})
}

func TestEveryRowOfTheContractHasTests(t *testing.T) {
	var ids []string
	seen := map[string]bool{}
	for _, r := range conformance.Rows() {
		ids = append(ids, r.ID)
		if len(r.Tests) < 4 {
			t.Errorf("row %q has %d tests", r.ID, len(r.Tests))
		}
		for _, test := range r.Tests {
			s := test.Sentence
			if seen[r.ID+s] {
				t.Errorf("row %q says twice that %s", r.ID, s)
			}
			seen[r.ID+s] = true
		}
	}
	want := []string{
		"store", "list and watch", "reflector", "controller", "shared informer", "errors", "waits",
	}
	if !slices.Equal(ids, want) {
		t.Errorf("rows %v, want %v", ids, want)
	}
}

// The lines of the contract about where client-go is wrong or weak.
func TestEveryWeaknessOfTheContractIsADifference(t *testing.T) {
	var ids []string
	for _, d := range conformance.Differences() {
		ids = append(ids, d.ID)
		if d.Situation == "" || d.Reference == "" || d.Right == "" {
			t.Errorf("%s does not say what is different", d.ID)
		}
	}
	for _, id := range []string{
		"recreated-unseen", "version-backwards", "bad-object-first", "bad-object-later", "index-function-fails",
		"unbounded-buffer", "live-indexers", "handler-panic",
	} {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is not among the differences %v", id, ids)
		}
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(ids)))); n != len(ids) {
		t.Errorf("of %d differences %d have a name of their own", len(ids), n)
	}
}

// forgetful is a store that keeps what is deleted.
type forgetful struct{ kc.Store }

func (forgetful) Delete(any) error { return nil }

// brokenVariable tells a test that it is the child whose failure is wanted.
const brokenVariable = "KINGLET_CONFORMANCE_BROKEN"

func TestABrokenImplementationFails(t *testing.T) {
	if os.Getenv(brokenVariable) != "" {
		im := conformance.ClientGo()
		im.NewStore = func(key kc.KeyFunc) kc.Store { return forgetful{kc.NewStore(key)} }
		im.NewHeap = nil
		conformance.Run(t, im, conformance.Options{Expect: conformance.ClientGoBehaviour, Rows: []string{"store", "errors"}})
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
	child.Env = append(os.Environ(), brokenVariable+"=yes")
	output, err := child.CombinedOutput()
	if err == nil {
		t.Fatal("a store that keeps what is deleted passes")
	}
	for _, want := range []string{
		"/store/random_operations_leave_what_a_map_would_hold",
		"lacks what row \"errors\" is about: NewHeap",
	} {
		if !bytes.Contains(output, []byte(want)) {
			t.Errorf("the failure does not say %q:\n%s", want, output)
		}
	}
}

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
