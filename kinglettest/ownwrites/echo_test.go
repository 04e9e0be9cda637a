package ownwrites_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/transport"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// live returns OwnEcho of the changes that come from the watch from now on.
func (b *behind) live() *[]bool {
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
	return &own
}

// client returns a client of the program's, whose requests go through between, if it is not
// nil, after OwnWrites has seen them.
func (b *behind) client(between transport.WrapperFunc) typedcorev1.PodInterface {
	writes := &kinglet.OwnWrites{}
	b.must(writes.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
	cfg := b.server.Config()
	cfg.QPS = -1
	if between != nil {
		cfg.Wrap(between)
	}
	cfg.Wrap(writes.Wrap)
	return kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("ns")
}

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
	create := func(c typedcorev1.PodInterface, _ string) error {
		_, err := c.Create(context.Background(), testpods.New("b", "n1"), metav1.CreateOptions{})
		return err
	}
	remove := func(c typedcorev1.PodInterface, _ string) error {
		return c.Delete(context.Background(), "a", metav1.DeleteOptions{})
	}
	for _, tc := range []struct {
		name    string
		deletes bool // somebody else does, and changes no label
		fields  string
		write   write
		own     []bool // of somebody else's change, and of the program's
	}{
		{"a patch that changes nothing", false, "", merge(`{"metadata":{"finalizers":["example.com/f"]}}`), []bool{false}},
		{"an update that changes nothing", false, "", update(""), []bool{false}},
		{"a delete of what is being deleted", true, "", remove, []bool{false}},
		{"a create", false, "", create, []bool{false, true}},
		{"a create that no read shows before the watch does", false, "status.phase!=Failed", create, []bool{false, false}},
		{"an update", false, "", update("yes"), []bool{false, true}},
		{"a patch, which may have changed nothing", false, "", merge(`{"metadata":{"labels":{"own":"yes"}}}`), []bool{false, false}},
		{"a patch of a version", false, "", merge(`{"metadata":{"resourceVersion":"VERSION","labels":{"own":"yes"}}}`), []bool{false, true}},
		{"a delete that marks", false, "", remove, []bool{false, false}},
		{"a delete", false, "", remove, []bool{false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := testpods.New("a", "n1")
				if tc.name != "a delete" {
					p.Finalizers = []string{"example.com/f"}
				}
				b := newBehind(t, source.Options{FieldSelector: tc.fields}, kinglet.Options[pod]{}, p)
				defer b.end()
				own := b.live()
				var version string
				if tc.deletes {
					version = b.delete("a").ResourceVersion
				} else {
					q := p.DeepCopy()
					q.Labels = map[string]string{"changed-by": "somebody-else"}
					version = b.update(q).ResourceVersion
				}
				b.must(tc.write(b.client(nil), version))
				b.catchUp()
				if !slices.Equal(*own, tc.own) {
					t.Errorf("OwnEcho is %v, want %v", *own, tc.own)
				}
			})
		})
	}
}

// What a list no longer has after the program's deletion of a collection may have been
// deleted by others.
func TestWhatIsMissingAfterADeletionIsNoOwnEcho(t *testing.T) {
	ctx := context.Background()
	for _, status := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := testpods.New("a", "n1")
			if !status {
				p.Finalizers = []string{"example.com/f"}
			}
			b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, p)
			defer b.end()
			own := b.live()
			others := kubernetes.NewForConfigOrDie(b.server.Config()).CoreV1().Pods("ns")
			b.delete("a")
			c := b.client(func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(r)
					switch {
					case r.Method != http.MethodDelete:
					case status: // as some aggregated servers answer
						resp.Body.Close()
						resp.Header.Set("Content-Type", "application/json")
						resp.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
					default: // before OwnWrites lists what is left
						_, err := others.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
						b.must(err)
					}
					return resp, err
				})
			})
			b.must(c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
			b.catchUp()
			if len(*own) == 0 || slices.Contains(*own, true) {
				t.Errorf("the answer is a Status: %v: OwnEcho is %v", status, *own)
			}
		})
	}
}

// The answer to a deletion lists what was being deleted before, which has to be listed again,
// and what it has deleted.
func TestWhatACollectionsDeletionListsIsAwaitedIfNoOtherListIs(t *testing.T) {
	for _, stands := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			before := testpods.New("a", "n1")
			before.Finalizers = []string{"example.com/f"}
			b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, before, testpods.New("m", "n1"))
			defer b.end()
			b.delete("a")
			c := b.client(func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodGet {
						return next.RoundTrip(r)
					}
					if stands {
						<-r.Context().Done()
					}
					return nil, errors.New("no list is to be had")
				})
			})
			began := time.Now()
			b.must(c.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("the deletion took %v", took)
			}
			if err := b.informer.AwaitOwnWrites(context.Background(), key("m")); err == nil {
				t.Error("m is gone, and reads that do not know it do not wait")
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that keeps its objects in memory restarts before its watch has shown the
// program's create, and somebody else creates an object of that name at that version.
func TestAnotherObjectOfTheSameVersionIsNoOwnEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{})
		defer b.end()
		own := b.live()
		_, err := b.client(nil).Create(context.Background(), testpods.New("b", "n1"), metav1.CreateOptions{})
		b.must(err)
		b.storage.Restart()
		b.server.Disconnect()
		testbubble.Pass(3 * time.Second)
		b.create(testpods.New("b", "n2"))
		b.catchUp()
		b.shows("b on n2")
		if !slices.Equal(*own, []bool{false}) {
			t.Errorf("OwnEcho is %v", *own)
		}
	})
}

func TestAnAnswerThatIsAlsoPutByHandIsAnOwnEcho(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		defer b.end()
		own, c := b.live(), b.client(nil)
		p, err := c.Get(ctx, "a", metav1.GetOptions{})
		b.must(err)
		p.Labels = map[string]string{"own": "yes"}
		p, err = c.Update(ctx, p, metav1.UpdateOptions{})
		b.must(err)
		b.must(b.informer.WritableStore().Put(p))
		b.catchUp()
		if !slices.Equal(*own, []bool{true}) {
			t.Errorf("OwnEcho is %v", *own)
		}
	})
}

// TestAnOwnEchoHasNothingOfOthersInIt has random writes to one pod, by the program and by
// others: into and out of a selector, to states that cannot be stored, beside breaks of the
// watch.
func TestAnOwnEchoHasNothingOfOthersInIt(t *testing.T) {
	echoes := 0
	for seed := range uint64(600) {
		synctest.Test(t, func(t *testing.T) {
			log, n := echoTrial(t, rand.New(rand.NewPCG(seed, 1)))
			if echoes += n; t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(log, ", "))
			}
		})
	}
	if echoes < 600 {
		t.Errorf("%d echoes", echoes)
	}
}

func echoTrial(t *testing.T, rnd *rand.Rand) (log []string, echoes int) {
	note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	b := &behind{t: t, storage: apiserver.NewStorage(apiserver.Pods), ended: make(chan error, 1)}
	b.server = apiserver.New(b.storage, apiserver.Options{})
	var of source.Options
	if rnd.IntN(2) == 0 {
		of.LabelSelector = "state!=2"
		note("selector")
	}
	src, err := source.FromConfig[pod](b.server.Config(), corev1.SchemeGroupVersion.WithResource("pods"), of)
	b.must(err)
	if rnd.IntN(2) == 0 {
		src = source.Map(src, func(p pod) (pod, error) {
			if p.Labels["state"] == "1" {
				return nil, errors.New("not stored")
			}
			return p, nil
		})
		note("refusals")
	}
	b.use(src, kinglet.Options[pod]{RemoveUndecodable: rnd.IntN(3) == 0})
	var told []kinglet.Change[pod]
	_, err = b.informer.AddHandler(kinglet.HandlerFunc[pod](func(_ context.Context, cs []kinglet.Change[pod]) {
		told = append(told, cs...)
	}), []kinglet.HandlerOptions{{}, {EveryVersion: true, Bound: 1000}}[rnd.IntN(2)])
	b.must(err)
	b.run()
	c, ctx := b.client(nil), context.Background()

	own := map[int64]bool{}
	for range 18 {
		p := testpods.New("a", "n1")
		p.Labels = map[string]string{"state": strconv.Itoa(rnd.IntN(4))}
		before, what, mine := b.storage.Revision(), "", rnd.IntN(2) == 0
		switch rnd.IntN(6) {
		case 0:
			what = "creates"
			if mine {
				_, err = c.Create(ctx, p, metav1.CreateOptions{})
			} else {
				_, err = b.storage.Create(p)
			}
		case 1, 2:
			what = "updates"
			if held, e := c.Get(ctx, "a", metav1.GetOptions{}); e == nil {
				p.ResourceVersion = held.ResourceVersion
			}
			if mine {
				_, err = c.Update(ctx, p, metav1.UpdateOptions{})
			} else {
				_, err = b.storage.Update(p)
			}
		case 3:
			what = "deletes"
			if mine {
				err = c.Delete(ctx, "a", metav1.DeleteOptions{})
			} else {
				_, err = b.storage.Delete(apiserver.Pods.GroupResource(), types.NamespacedName{Namespace: "ns", Name: "a"}, nil)
			}
		default:
			if rnd.IntN(12) == 0 {
				if rnd.IntN(2) == 0 {
					b.storage.Compact(b.storage.Revision())
				}
				b.server.Disconnect()
				testbubble.Pass(3 * time.Second)
				note("breaks")
			}
			b.server.Advance(1 + rnd.Int64N(3))
			synctest.Wait()
			note("goes on")
		}
		if err != nil { // there is one already, or none
			note("%s, refused", what)
			err = nil
		}
		for r := before + 1; r <= b.storage.Revision(); r++ {
			own[r] = mine
			note("%s to %s at %d, own %v", what, p.Labels["state"], r, mine)
		}
	}
	b.server.Release()
	testbubble.Pass(time.Minute)
	b.end()

	last := int64(0)
	for _, ch := range told {
		of := ch.New
		if of == nil {
			of = ch.Old
		}
		to, err := strconv.ParseInt(ch.ResourceVersion, 10, 64)
		b.must(err)
		for _, r := range b.storage.History(apiserver.Pods.GroupResource()) {
			if ch.OwnEcho && r.Revision > last && r.Revision <= to && r.Object.(pod).UID == of.UID && !own[r.Revision] {
				t.Errorf("%s from %d to %d is marked, and %d is of others", ch.Type, last, to, r.Revision)
			}
		}
		if last = to; ch.OwnEcho {
			echoes++
		}
	}
	return log, echoes
}
