package ownwrites_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
)

// placed is what a Map makes of a pod: it has no metadata.
type placed struct {
	name, node string
	uid        types.UID
}

// Objects that show neither their UID nor that they are marked for deletion are read after own
// writes as others are.
func TestOwnWritesOfMappedObjectsAreInReads(t *testing.T) {
	for name, uid := range map[string]func(placed) types.UID{"no UID": nil, "UID": func(p placed) types.UID { return p.uid }} {
		for answer, silent := range map[string]bool{"listed": false, "silent": true} {
			t.Run(name+", "+answer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { mappedWrites(t, uid, silent) })
			})
		}
	}
}

func mappedWrites(t *testing.T, uid func(placed) types.UID, silent bool) {
	held := testpods.New("held", "n1")
	held.Finalizers = []string{"example.com/f"}
	b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"), testpods.New("b", "n2"), held)
	defer b.end()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	src, err := source.FromConfig[pod](b.server.Config(), pods, source.Options{})
	b.must(err)
	inf, err := kinglet.New(source.Map(src, func(p pod) (placed, error) { return placed{p.Name, p.Spec.NodeName, p.UID}, nil }),
		kinglet.Options[placed]{KeyFunc: func(p placed) (kinglet.Key, error) { return key(p.name), nil }, UID: uid})
	b.must(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	b.server.Release()
	go func() { ended <- inf.Run(ctx) }()
	synctest.Wait()
	b.server.Hold()
	defer func() { stop(); b.must(<-ended) }()

	own := &kinglet.OwnWrites{}
	b.must(own.Add(pods, inf))
	config := b.server.Config()
	if silent {
		config.Wrap(withStatus)
	}
	config.Wrap(own.Wrap)
	client := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(testpods.Namespace)
	shows := func(after string, want ...string) {
		t.Helper()
		var got []string
		for p := range inf.Store().All() {
			got = append(got, p.name+" on "+p.node)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s reads show %q, want %q", after, got, want)
		}
	}
	b.must(client.Delete(ctx, "a", metav1.DeleteOptions{}))
	shows("a delete", "b on n2", "held on n1")
	_, err = client.Create(ctx, testpods.New("a", "n3"), metav1.CreateOptions{})
	b.must(err)
	shows("a create", "a on n3", "b on n2", "held on n1")

	b.must(client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=n2"}))
	b.must(client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}))
	go func() {
		testbubble.Pass(time.Second)
		b.server.Release()
	}()
	began := time.Now()
	b.must(inf.AwaitOwnWrites(ctx, kinglet.Key{Namespace: testpods.Namespace}))
	if took := time.Since(began); took > time.Second {
		t.Errorf("what a deletion left is awaited for %v, and the watch is a second late", took)
	}
	shows("the deletion of collections", "a on n3", "held on n1")
	synctest.Wait()
	b.must(inf.AwaitOwnWrites(ctx, kinglet.Key{Namespace: testpods.Namespace}))
	shows("the watch has come", "a on n3", "held on n1")
}

// withStatus has deletions of collections answered with a Status.
func withStatus(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodDelete || r.URL.Query().Get("fieldSelector") == "" {
			return resp, err
		}
		_ = resp.Body.Close()
		status := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`
		resp.Header.Set("Content-Type", "application/json")
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader([]byte(status))), int64(len(status))
		return resp, nil
	})
}
