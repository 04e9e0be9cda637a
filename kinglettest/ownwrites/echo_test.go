package ownwrites_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
)

// A write that changes nothing is answered with the object at the version of somebody else's
// last write, which the watch has not shown.
func TestOnlyTheProgramsOwnWritesAreOwnEchoes(t *testing.T) {
	type write = func(c typedcorev1.PodInterface, version string) error
	merge := func(body string) write {
		return func(c typedcorev1.PodInterface, version string) error {
			_, err := c.Patch(context.Background(), "a", types.MergePatchType, []byte(strings.ReplaceAll(body, "VERSION", version)), metav1.PatchOptions{})
			return err
		}
	}
	update := func(with string) write {
		return func(c typedcorev1.PodInterface, _ string) error {
			q, err := c.Get(context.Background(), "a", metav1.GetOptions{})
			if err == nil && with != "" {
				q.Labels = map[string]string{"own": with}
			}
			if err == nil {
				_, err = c.Update(context.Background(), q, metav1.UpdateOptions{})
			}
			return err
		}
	}
	remove := func(c typedcorev1.PodInterface, _ string) error {
		return c.Delete(context.Background(), "a", metav1.DeleteOptions{})
	}
	for _, tc := range []struct {
		name    string
		deletes bool // somebody else does, and changes no label
		write   write
		own     []bool // of somebody else's change, and of the program's
	}{
		{"a patch that changes nothing", false, merge(`{"metadata":{"finalizers":["example.com/f"]}}`), []bool{false}},
		{"an update that changes nothing", false, update(""), []bool{false}},
		{"a delete of what is being deleted", true, remove, []bool{false}},
		{"an update", false, update("yes"), []bool{false, true}},
		{"a patch, which may have changed nothing", false, merge(`{"metadata":{"labels":{"own":"yes"}}}`), []bool{false, false}},
		{"a patch of a version", false, merge(`{"metadata":{"resourceVersion":"VERSION","labels":{"own":"yes"}}}`), []bool{false, true}},
		{"a delete that marks", false, remove, []bool{false, false}},
		{"a delete", false, remove, []bool{false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := testpods.New("a", "n1")
				if tc.name != "a delete" {
					p.Finalizers = []string{"example.com/f"}
				}
				b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, p)
				defer b.end()
				var own []bool
				_, err := b.informer.AddHandler(kinglet.HandlerFunc[pod](func(_ context.Context, cs []kinglet.Change[pod]) {
					for _, c := range cs {
						if c.Reason == kinglet.Live {
							own = append(own, c.OwnEcho)
						}
					}
				}), kinglet.HandlerOptions{EveryVersion: true, Bound: 100})
				b.must(err)
				synctest.Wait()
				writes := &kinglet.OwnWrites{}
				b.must(writes.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
				cfg := b.server.Config()
				cfg.Wrap(writes.Wrap)
				var version string
				if tc.deletes {
					version = b.delete("a").ResourceVersion
				} else {
					q := p.DeepCopy()
					q.Labels = map[string]string{"changed-by": "somebody-else"}
					version = b.update(q).ResourceVersion
				}
				b.must(tc.write(kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("ns"), version))
				b.catchUp()
				if !slices.Equal(own, tc.own) {
					t.Errorf("OwnEcho is %v, want %v", own, tc.own)
				}
			})
		})
	}
}
