package interop

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// A server on whose storage nothing is written sends no bookmark on a watch that begins at its
// version, although it sent some before. That is no sign of a dead connection, and an outage is
// over once it answers.
func TestReadsAreNotStaleWhileNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := apiserver.NewStorage(apiserver.Pods)
		var refusals atomic.Int32
		server := apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
			if r.Verb == "watch" && refusals.Add(-1) >= 0 {
				return &apiserver.Fault{Answer: apierrors.NewServiceUnavailable("it restarts")}
			}
			return nil
		}})
		defer server.Close()
		src := must(source.FromConfig[*corev1.Pod](server.Config(), corev1.SchemeGroupVersion.WithResource("pods"), source.Options{}))
		pods := must(kinglet.New(src, kinglet.Options[*corev1.Pod]{}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- pods.Run(ctx) }()
		learned := false
		for i := range 20 {
			must(storage.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", i)}}))
			testbubble.Pass(30 * time.Second)
			learned = learned || pods.Status().BookmarkInterval > 0
		}
		if !learned {
			t.Error("no bookmark interval was learned")
		}
		for second := range 3 * 3600 {
			testbubble.Pass(time.Second)
			switch second {
			case 2 * 3600:
				refusals.Store(1)
				fallthrough
			case 3600:
				server.Disconnect()
			}
			s := pods.Status()
			since, stale := s.StaleSince(time.Now())
			// The server is asked after three intervals of bookmarks, and after an outage.
			if known := second > 1000 && second%3600 > 190; stale && (known || time.Since(since) > 190*time.Second) {
				t.Fatalf("after %d seconds: stale since %v: %v", second, since, s.Problems(time.Now()))
			}
		}
		cancel()
		<-done
	})
}
