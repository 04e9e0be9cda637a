package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	_, err := kinglet.New[int](numbers{}, kinglet.Options[int]{PageSize: -1, StopGrace: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"numbers", "KeyFunc", "PageSize", "StopGrace"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

// numbers is a source of values that are not Kubernetes objects.
type numbers struct{ source.Source[int] }

func (numbers) String() string { return "numbers" }

func TestRunRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{})
		r.run()
		if err := r.informer.Run(context.Background()); !errors.Is(err, kinglet.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
		r.end()
		if _, err := r.informer.AddHandler(kinglet.HandlerFuncs[pod]{}, kinglet.HandlerOptions{}); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("a handler added after the end: %v", err)
		}
	})
}

func TestResyncDeliversEveryObjectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{Resync: time.Minute})
		r.run()
		defer r.end()
		rec.take()
		testbubble.Pass(61 * time.Second)
		expect(t, rec.take(), "Resync Updated a on n1", "Resync Updated b on n1")
	})
}

func TestHandlerFuncsReceiveTypedObjectsAndTypedDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		var lines []string
		reg := r.add(kinglet.HandlerFuncs[pod]{
			OnAdd: func(_ context.Context, p pod, initial bool) {
				if initial {
					lines = append(lines, "initial")
				}
				lines = append(lines, "add "+p.Name)
			},
			OnUpdate: func(_ context.Context, old, p pod) {
				lines = append(lines, "update "+old.Spec.NodeName+" "+p.Spec.NodeName)
			},
			OnDelete: func(_ context.Context, d kinglet.DeletedObject[pod]) {
				lines = append(lines, "delete "+d.Key.String()+" "+d.Object.Spec.NodeName)
			},
		}, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		r.must(r.src.Delete(key("a")))
		synctest.Wait()
		if reg.DeliveredThrough() != r.src.ResourceVersion() {
			t.Errorf("delivered through %s, server is at %s", reg.DeliveredThrough(), r.src.ResourceVersion())
		}
		reg.Remove()
		<-reg.Done()
		r.must(r.src.Add(newPod("c", "n2")))
		synctest.Wait()
		expect(t, lines, "initial", "add a", "update n1 n2", "delete ns/a n2")
	})
}

func TestTransformStoresWhatItReturnsAndReportsWhatItRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type node struct{ name string }
		src := sourcetest.NewStatic(newPod("a", "n1"), newPod("b", ""))
		var reported []error
		inf, err := kinglet.New(source.Map[pod](src, func(p pod) (node, error) {
			if p.Spec.NodeName == "" {
				return node{}, errors.New("not scheduled")
			}
			return node{p.Spec.NodeName}, nil
		}), kinglet.Options[node]{
			KeyFunc: func(n node) (kinglet.Key, error) { return kinglet.Key{Namespace: "ns", Name: "a"}, nil },
			OnError: func(err error) { reported = append(reported, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		if err := inf.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
		if got, ok := inf.Store().Get(key("a")); !ok || got.name != "n1" {
			t.Errorf("got %v, %v", got, ok)
		}
		var item *kinglet.ItemError
		if len(reported) != 1 || !errors.As(reported[0], &item) || item.Key != key("b") || item.Stage != source.StageTransform {
			t.Errorf("reported %v", reported)
		}
		stop()
		<-ended
	})
}

func TestAPanicIsReportedAndTheStoreGoesOnIfAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{RecoverPanics: true}, newPod("a", "n1"), newPod("b", "n1"))
		told := 0
		r.add(kinglet.HandlerFuncs[pod]{OnAdd: func(_ context.Context, p pod, _ bool) {
			told++
			if p.Name == "a" {
				panic("no such node")
			}
		}}, kinglet.HandlerOptions{Name: "scheduler"})
		r.run()
		defer r.end()
		var panicked *kinglet.HandlerPanicError
		if errs := r.errors(); len(errs) != 1 || !errors.As(errs[0], &panicked) || panicked.Handler != "scheduler" || panicked.Key != key("a") {
			t.Errorf("reported: %v", errs)
		}
		if told != 2 {
			t.Errorf("the handler was called %d times, want 2", told)
		}
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		r.equal()
	})
}

// By default a panic ends the process, as anywhere in Go, and says where.
func TestAPanicNamesHandlerAndKeyAndEndsTheProcess(t *testing.T) {
	const inside = "KINGLET_TEST_PANIC"
	if os.Getenv(inside) != "" {
		src := sourcetest.NewStatic(newPod("a", "n1"))
		inf, err := kinglet.New[pod](src, kinglet.Options[pod]{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = inf.AddHandler(kinglet.HandlerFuncs[pod]{OnAdd: func(context.Context, pod, bool) { panic("no such node") }},
			kinglet.HandlerOptions{Name: "scheduler"})
		if err != nil {
			t.Fatal(err)
		}
		t.Fatal("Run returned ", inf.Run(t.Context()))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the process lived on:\n%s", out)
	}
	for _, want := range []string{`handler "scheduler" panicked on ns/a`, "no such node", "informer_test.go"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

func TestIndexesCanBeAddedAndRemovedWhileThereAreObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		r.run()
		defer r.end()
		r.must(r.informer.AddIndex("node", byNode))
		if n, err := r.informer.Store().IndexCount("node", "n1"); n != 1 || err != nil {
			t.Errorf("IndexCount = %d, %v", n, err)
		}
		r.must(r.informer.RemoveIndex("node"))
		if err := r.informer.RemoveIndex("node"); err == nil || !strings.Contains(err.Error(), `"node"`) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

func TestNewNamesEverythingThatIsWrongWithItsOptions(t *testing.T) {
	_, err := kinglet.New[pod](sourcetest.NewStatic[pod](), kinglet.Options[pod]{
		PageSize: -1, MaxObjects: -1, MaxListBytes: -1, MinWatchTimeout: -1, StopGrace: -1,
		MutationDetection: kinglet.MutationDetection{Sample: -1}, ConsistencyCheck: kinglet.ConsistencyCheck{Limit: -1},
	})
	for _, part := range []string{
		"PageSize", "MaxObjects", "MaxListBytes", "MinWatchTimeout", "StopGrace", "MutationDetection.Sample", "ConsistencyCheck.Limit",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

func TestEveryDurationMayBeTheLongestThereIs(t *testing.T) {
	opts, tried := kinglet.Options[pod]{DisableWatchList: true}, 0
	var set func(v reflect.Value, name string)
	set = func(v reflect.Value, name string) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				set(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
		}
		if v.Type() != reflect.TypeFor[time.Duration]() {
			return
		}
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64/2 + 1, math.MaxInt64 / 2} {
			v.SetInt(int64(d))
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, opts, newPod("a", "n1"))
				testbubble.Pass(time.Second) // the clock of a run does not begin at zero
				r.run()
				testbubble.Pass(4 * time.Minute)
				if s := r.informer.Status(); s.Watches != 1 || len(r.errors()) > 0 {
					t.Errorf("%s of %v: %d watches, %v", name, d, s.Watches, r.errors())
				}
				r.equal()
				r.end()
			})
			tried++
		}
		v.SetZero()
	}
	if set(reflect.ValueOf(&opts).Elem(), "Options"); tried < 4*3 {
		t.Errorf("%d tried", tried)
	}
}

// Each user function in the options panics at an object, in every way that this can come.
func TestAPanicOfAnyFunctionIsReportedAndTheInformerGoesOn(t *testing.T) {
	boom := func(p pod) {
		if p.Labels["boom"] != "" {
			panic("boom")
		}
	}
	functions := map[string]func(*kinglet.Options[pod]){
		"KeyFunc": func(o *kinglet.Options[pod]) {
			o.KeyFunc = func(p pod) (kinglet.Key, error) { boom(p); return key(p.Name), nil }
		},
		"UID":   func(o *kinglet.Options[pod]) { o.UID = func(p pod) types.UID { boom(p); return p.UID } },
		"Equal": func(o *kinglet.Options[pod]) { o.Equal = func(a, _ pod) bool { boom(a); return true } },
		"Indexers": func(o *kinglet.Options[pod]) {
			o.Indexers["n"] = func(p pod) ([]string, error) { boom(p); return nil, nil }
		},
	}
	// What reports has nowhere to report its own panic.
	reports := []string{"OnError", "OnReadPath"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[kinglet.Options[pod]]()) {
		if k := f.Type.Kind(); (k == reflect.Func || k == reflect.Map) && functions[f.Name] == nil && !slices.Contains(reports, f.Name) {
			t.Errorf("%s is not tried", f.Name)
		}
	}
	for name, set := range functions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := kinglet.Options[pod]{Logger: slog.New(slog.DiscardHandler), Indexers: map[string]kinglet.IndexFunc[pod]{}, ConsistencyCheck: kinglet.ConsistencyCheck{Every: time.Minute}}
				set(&opts)
				r := newRig(t, opts, withUID(newPod("a", "n1"), "1"))
				r.run()
				defer r.end()
				for i, label := range []string{"", "boom", "boom", ""} {
					p := withUID(newPod("a", "n2"), "1")
					p.Labels = map[string]string{"boom": label}
					r.must(r.src.Update(p))
					testbubble.Pass(5 * time.Minute)
					p.ResourceVersion = r.src.ResourceVersion()
					err := r.informer.Wrote(p)
					if name == "KeyFunc" && label != "" && !errors.As(err, new(*store.PanicError)) {
						t.Errorf("the own write: %v", err)
					}
					r.src.Expire()
					r.src.Disconnect(errors.New("cut"))
					testbubble.Pass(5 * time.Minute)
					r.must(r.src.Delete(key("a")))
					r.must(r.src.Add(withUID(p, types.UID(fmt.Sprint(i)))))
					testbubble.Pass(5 * time.Minute)
				}
				r.equal()
				var panicked *store.PanicError
				if !slices.ContainsFunc(r.errors(), func(err error) bool { return errors.As(err, &panicked) && panicked.Value == "boom" }) {
					t.Errorf("reported %v", r.errors())
				}
			})
		})
	}
}
