package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	kc "k8s.io/client-go/tools/cache"
)

// panicVariable is set in the child process that is to panic.
const panicVariable = "KINGLET_CONFORMANCE_PANIC"

// panickingHandler panics for one object.
type panickingHandler struct{ kc.ResourceEventHandlerFuncs }

func (panickingHandler) OnAdd(any, bool) { panic("this is what the handler says") }

// handlerPanic runs this test in a child process, since the panic ends the process.
func handlerPanic(t *testing.T, im Implementation) string {
	if os.Getenv(panicVariable) != "" {
		panicForReal(t, im)
	}
	var pattern []string
	for _, part := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.timeout=50s")
	child.Env = append(os.Environ(), panicVariable+"=yes")
	output, err := child.CombinedOutput()
	if err == nil {
		return "the process went on"
	}
	if !bytes.Contains(output, []byte("this is what the handler says")) {
		t.Logf("output:\n%s", output)
		return "the process ended for another reason"
	}
	for line := range bytes.Lines(output) {
		if bytes.Contains(line, []byte("panickingHandler")) && bytes.Contains(line, []byte("somewhere/something")) {
			return "the process ended, with handler and key"
		}
	}
	return "the process ended, without the key"
}

// panicForReal runs an informer whose handler panics. It returns only if the panic does
// not end the process.
func panicForReal(t *testing.T, im Implementation) {
	o := newOrigin(pod("somewhere", "something"))
	informer := podInformer(im, o)
	value(informer.AddEventHandler(panickingHandler{}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	informer.RunWithContext(ctx)
	os.Exit(0)
}
