package command

import (
	"flag"
	"io"
	"strconv"
	"sync"

	"k8s.io/klog/v2"
)

// warnings shows each warning that the server sends once: a deprecated
// version, say. It is safe for concurrent use.
type warnings struct {
	note func(string)

	mu   sync.Mutex
	seen map[string]bool // guarded by mu
}

// HandleWarningHeader implements rest.WarningHandler. 299 is the one code that
// API servers send.
func (w *warnings) HandleWarningHeader(code int, _ string, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	again := w.seen[text]
	w.seen[text] = true
	w.mu.Unlock()
	if !again {
		w.note("warning: " + text)
	}
}

// quieten discards the logs of the client libraries, whose errors are shown in better
// words. With a verbosity, the logs go to out.
func quieten(out io.Writer, verbosity int) error {
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	if verbosity <= 0 {
		out = io.Discard
	}
	for name, value := range map[string]string{
		"logtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true", "v": strconv.Itoa(verbosity),
	} {
		if err := fs.Set(name, value); err != nil {
			return err
		}
	}
	klog.SetOutput(out)
	return nil
}
