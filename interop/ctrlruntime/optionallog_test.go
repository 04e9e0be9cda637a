package ctrlruntime

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// fails counts the lines about a kind's failures.
func (l *lines) fails(kind string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.all.Bytes()) {
		if bytes.Contains(line, []byte("informer fails")) && bytes.Contains(line, []byte("Kind="+kind)) {
			n++
		}
	}
	return n
}

// withConfigMaps is definitions in which only that of Node is missing.
type withConfigMaps struct{ *definitions }

func (d withConfigMaps) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if gk.Kind == "ConfigMap" {
		return d.RESTMapper.RESTMapping(gk, versions...)
	}
	return d.definitions.RESTMapping(gk, versions...)
}

// If the program can do without a kind, it is not news each minute that the kind is
// missing or forbidden for good. A server that fails is.
func TestARefusedOptionalKindIsLoggedOnceAndThenOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuse = func(r *apiserver.Request) error {
			switch r.Resource.Resource {
			case "configmaps":
				return apierrors.NewForbidden(r.Resource, "", errors.New("not for you"))
			case "pods":
				return apierrors.NewInternalError(errors.New("no quorum"))
			}
			return nil
		}
		logged()
		told := &lines{}
		d := &definitions{mapper(), make(chan struct{})}
		defer close(d.defined)
		c, err := onlyPods().NewCache(w.server.Config(), cache.Options{Mapper: withConfigMaps{d}, Scheme: scheme.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(told)))))
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		newTold(t, c, &corev1.ConfigMap{})
		newTold(t, c, &corev1.Node{})
		newTold(t, c, &corev1.Pod{})
		testclock.Pass(3*time.Hour + time.Minute)
		for _, kind := range []string{"ConfigMap", "Node"} {
			if n := told.fails(kind); n < 3 || n > 4 {
				t.Errorf("%d lines about %s in three hours", n, kind)
			}
		}
		if n := told.fails("Pod"); n < 60 {
			t.Errorf("%d lines about a required kind in three hours", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
