package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"
	genericfeatures "k8s.io/apiserver/pkg/features"
	utilcompatibility "k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"
	"k8s.io/klog/v2"
)

// Kubernetes keeps this state once a process; everything here touches it, and
// nothing else in this package does.

// occupied is whether the process has a cluster.
var occupied atomic.Bool

// exitHook is told when a component wants to end the process.
var exitHook atomic.Pointer[func(error)]

var setUpOnce sync.Once

// setUpProcess directs logging to log, and what would end the process to
// onExit. It is undone by tearDownProcess.
func setUpProcess(log io.Writer, verbosity int, onExit func(error)) error {
	exitHook.Store(&onExit)
	var err error
	setUpOnce.Do(func() {
		// A single API server has no peers, and would wait for its lease among
		// them to be removed when etcd is gone before it.
		err = utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
			string(genericfeatures.UnknownVersionInteroperabilityProxy): false,
		})
		// The components talk to an API server of their own version.
		rest.SetDefaultWarningHandler(rest.NoWarnings{})
		klog.OsExit = func(code int) {
			if hook := exitHook.Load(); hook != nil {
				(*hook)(&ExitError{Code: code})
			}
			// klog's callers rely on not being returned to.
			runtime.Goexit()
		}
	})
	return errors.Join(err, setUpLog(log, verbosity))
}

func setUpLog(log io.Writer, verbosity int) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr":     "false",
		"alsologtostderr": "false",
		"stderrthreshold": "FATAL",
		"v":               strconv.Itoa(max(0, verbosity-1)),
	} {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	// klog writes a line to its severity's output and to those of all lower
	// ones, so what INFO gets is everything and what WARNING gets is enough.
	info, warning := io.Discard, log
	if verbosity > 0 {
		info, warning = log, io.Discard
	}
	klog.SetOutputBySeverity("INFO", info)
	klog.SetOutputBySeverity("WARNING", warning)
	klog.SetOutputBySeverity("ERROR", io.Discard)
	klog.SetOutputBySeverity("FATAL", io.Discard)
	return nil
}

func tearDownProcess() {
	klog.Flush()
	_ = setUpLog(io.Discard, 0)
	exitHook.Store(nil)
}

// newRegistry returns a set of feature gates and versions for one component;
// the process-wide one holds a single set.
func newRegistry() (compatibility.ComponentGlobalsRegistry, error) {
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	version := utilcompatibility.DefaultKubeEffectiveVersionForTest()
	version.SetEmulationVersion(gates.EmulationVersion())
	version.SetMinCompatibilityVersion(gates.MinCompatibilityVersion())
	registry := compatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(compatibility.DefaultKubeComponent, stampedVersion{version}, gates); err != nil {
		return nil, err
	}
	return registry, nil
}

// setFeatureGates turns gates on or off, for this process.
func setFeatureGates(gates map[string]bool) error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("cluster: FeatureGates: %w", err)
	}
	return nil
}

// parse sets a component's flags as its command line would.
func parse(name Component, sets *cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet(string(name), pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	return flags.Parse(args)
}

// A task is a component's Run function under way.
type task struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // readable once ended is closed
}

// startTask runs fn until it returns; fn may also end by runtime.Goexit, as
// klog's fatal errors do.
func startTask(fn func(ctx context.Context) error) *task {
	ctx, cancel := context.WithCancel(context.Background())
	t := &task{cancel: cancel, ended: make(chan struct{}), err: errEnded}
	go func() {
		defer close(t.ended)
		defer cancel()
		t.err = fn(ctx)
	}()
	return t
}

// wait returns once the task has ended.
func (t *task) wait(ctx context.Context) error {
	select {
	case <-t.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
