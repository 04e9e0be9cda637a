package queues_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"sync"
	"testing"

	"go.uber.org/goleak"
	kw "k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/internal/tests/parity"
	"github.com/kinglet-go/kinglet/kinglettest/conformance/queues"
)

func TestClientGoKeepsItsContractAndShowsItsWeaknesses(t *testing.T) {
	queues.Run(t, queues.ClientGo(), queues.Options{Expect: queues.ClientGoBehaviour})
}

func TestEveryRowOfTheContractHasTests(t *testing.T) {
	for _, r := range queues.Rows() {
		if len(r.Tests) < 5 {
			t.Errorf("row %q has %d tests", r.ID, len(r.Tests))
		}
		seen := map[string]bool{}
		for _, test := range r.Tests {
			s := test.Sentence
			if seen[s] {
				t.Errorf("row %q says twice that %s", r.ID, s)
			}
			seen[s] = true
		}
	}
	for _, d := range queues.Differences() {
		if d.ID == "" || d.Situation == "" || d.Reference == "" || d.Right == "" {
			t.Errorf("%s does not say what is different", d.ID)
		}
	}
}

// brokenVariable tells a test that it is the child whose failure is wanted.
const brokenVariable = "KINGLET_QUEUES_BROKEN"

// child runs the test again, in a process in which broken is true.
func child(t *testing.T, run string) []byte {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$"+run, "-test.timeout=60s")
	cmd.Env = append(os.Environ(), brokenVariable+"=yes")
	output, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("it passes")
	}
	return output
}

func broken() bool { return os.Getenv(brokenVariable) != "" }

// forgetful is a queue that drops what is added while it is processed.
type forgetful struct {
	kw.TypedInterface[string]
	processed *sync.Map
}

func (f forgetful) Get() (string, bool) {
	item, shutdown := f.TypedInterface.Get()
	f.processed.Store(item, true)
	return item, shutdown
}

func (f forgetful) Add(item string) {
	if _, busy := f.processed.Load(item); !busy {
		f.TypedInterface.Add(item)
	}
}

func (f forgetful) Done(item string) {
	f.processed.Delete(item)
	f.TypedInterface.Done(item)
}

func TestABrokenImplementationFails(t *testing.T) {
	if broken() {
		im := queues.ClientGo()
		im.NewTyped = func() kw.TypedInterface[string] { return forgetful{kw.NewTyped[string](), &sync.Map{}} }
		im.DefaultItemBasedRateLimiter = nil
		queues.Run(t, im, queues.Options{Expect: queues.ClientGoBehaviour, Rows: []string{"queue", "rate limiters"}})
		return
	}
	output := child(t, "")
	for _, want := range []string{
		"/queue/random_operations_hand_out_what_a_model_does",
		"lacks what row \"rate limiters\" is about: DefaultItemBasedRateLimiter",
	} {
		if !bytes.Contains(output, []byte(want)) {
			t.Errorf("the failure does not say %q:\n%s", want, output)
		}
	}
}

func TestClientGoIsNotRightWhereItIsWeak(t *testing.T) {
	if broken() {
		queues.Run(t, queues.ClientGo(), queues.Options{})
		return
	}
	output := child(t, "/^differences$")
	for _, d := range queues.Differences() {
		if !bytes.Contains(output, []byte("--- FAIL: "+t.Name()+"/differences/"+d.ID+" ")) {
			t.Errorf("client-go does what is right: %s", d.ID)
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "write the differences into package workqueue's doc.go, in place of comparing them")

func TestTheDocumentedDifferencesAreThoseThatTheSuiteTests(t *testing.T) {
	parity.Documented(t, "../../../workqueue/doc.go", queues.DifferencesDoc(), "// # What stays", *rewrite)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
