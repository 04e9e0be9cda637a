package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/store"
)

// collectHandled gathers what goes to the process's error handlers. Tests that
// use it cannot run in parallel.
func collectHandled(t *testing.T) *[]error {
	var errs []error
	saved := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(_ context.Context, err error, _ string, _ ...any) { errs = append(errs, err) },
	}
	t.Cleanup(func() { utilruntime.ErrorHandlers = saved })
	return &errs
}

func add(t testing.TB, s Store, objs ...any) {
	t.Helper()
	for _, obj := range objs {
		if err := s.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKeyErrorIsAKeyErrorAndChangesNothing(t *testing.T) {
	cause := errors.New("no key")
	for name, fn := range map[string]KeyFunc{
		"metadata": MetaNamespaceKeyFunc,
		"custom": func(obj any) (string, error) {
			if _, ok := obj.(*corev1.ConfigMap); !ok {
				return "", cause
			}
			return MetaNamespaceKeyFunc(obj)
		},
	} {
		s := NewIndexer(fn, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
		add(t, s, configMap("a", "1", 4))
		bad := "no object"
		_, _, getErr := s.Get(bad)
		txn := s.(TransactionStore).Transaction(
			Transaction{Type: TransactionTypeAdd, Object: bad},
			Transaction{Type: TransactionTypeAdd, Object: configMap("a", "1", 4)},
		)
		if txn == nil || len(txn.Errors) != 1 || !slices.Equal(txn.SuccessfulIndices, []int{1}) || txn.TotalTransactions != 2 {
			t.Fatalf("%s: Transaction: %v", name, txn)
		}
		for what, err := range map[string]error{
			"Add": s.Add(bad), "Update": s.Update(bad), "Delete": s.Delete(bad), "Get": getErr,
			"Replace":     s.Replace([]any{configMap("b", "2", 5), bad}, "5"),
			"Transaction": txn.Errors[0],
		} {
			var ke KeyError
			if !errors.As(err, &ke) || ke.Obj != bad {
				t.Errorf("%s: %s: %v is no KeyError of the object", name, what, err)
			}
			if name == "custom" && !errors.Is(err, cause) {
				t.Errorf("%s does not wrap what the function said: %v", what, err)
			}
		}
		if keys := s.ListKeys(); !slices.Equal(keys, []string{"a/1"}) || s.LastStoreSyncResourceVersion() != "4" {
			t.Errorf("%s: the store has %q at %s", name, keys, s.LastStoreSyncResourceVersion())
		}
	}
}

func TestAnIndexFunctionThatFailsLeavesTheObjectStoredAndIsReported(t *testing.T) {
	errs := collectHandled(t)
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{
		NamespaceIndex: MetaNamespaceIndexFunc,
		"fails":        func(any) ([]string, error) { return []string{"x"}, errors.New("trouble") },
		"panics":       func(any) ([]string, error) { panic("trouble") },
	})
	obj := configMap("a", "1", 1)
	add(t, s, obj)
	if err := s.Replace([]any{obj}, "2"); err != nil {
		t.Fatal(err)
	}
	if err := s.AddIndexers(Indexers{"late": func(any) ([]string, error) { return nil, errors.New("trouble") }}); err != nil {
		t.Fatal(err)
	}
	if got, ok, _ := s.GetByKey("a/1"); got != obj || !ok {
		t.Error("the object is not stored")
	}
	if objs, _ := s.ByIndex(NamespaceIndex, "a"); len(objs) != 1 {
		t.Error("the object is not in the index whose function works")
	}
	for _, name := range []string{"fails", "panics", "late"} {
		if values := s.ListIndexFuncValues(name); len(values) != 0 {
			t.Errorf("index %q has %q", name, values)
		}
	}
	if len(*errs) != 5 {
		t.Errorf("%d errors reported, want 2 of each write and 1 of AddIndexers: %v", len(*errs), *errs)
	}
	for _, err := range *errs {
		var ie *store.IndexError
		if !errors.As(err, &ie) || ie.Key.String() != "a/1" {
			t.Errorf("reported: %v", err)
		}
	}
	if _, err := s.Index("fails", obj); err == nil {
		t.Error("Index keeps the function's error for itself")
	}
}

func TestAnObjectThatIsModifiedAfterwardsDoesNotCorruptTheStore(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc, "labels": byLabels})
	var objs []*corev1.ConfigMap
	for i := range 500 {
		obj := configMap(fmt.Sprint("ns-", i%3), fmt.Sprint("a-rather-long-name-", i), i)
		obj.Labels = map[string]string{"l": fmt.Sprint(i % 5)}
		objs = append(objs, obj)
		add(t, s, obj)
	}
	r := seeded(t)
	for _, obj := range objs {
		obj.Name, obj.Namespace = fmt.Sprint("renamed-", r.IntN(50)), "moved"
		obj.Labels["l"] = "changed"
	}
	for i := range 500 {
		key := fmt.Sprintf("ns-%d/a-rather-long-name-%d", i%3, i)
		if got, ok, _ := s.GetByKey(key); !ok || got != objs[i] {
			t.Fatalf("%s is gone", key)
		}
		if i%2 == 0 {
			if err := s.Delete(ExplicitKey(key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if values := s.ListIndexFuncValues("labels"); slices.Contains(values, "changed") || len(s.List()) != 250 {
		t.Errorf("%d objects under %q", len(s.List()), values)
	}
	// What is written again is found under what it is now.
	if err := s.Replace([]any{objs[0]}, ""); err != nil {
		t.Fatal(err)
	}
	if found, _ := s.ByIndex("labels", "changed"); len(found) != 1 {
		t.Error("an object that was modified and stored again is not found")
	}
}

func TestReadersSeeATransactionWholeOrNotAtAll(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if n := len(s.List()); n != 0 && n != 100 {
				t.Errorf("a reader sees %d objects", n)
			}
			if objs, _ := s.ByIndex(NamespaceIndex, "a"); len(objs) != 0 && len(objs) != 100 {
				t.Errorf("a reader sees %d objects in the index", len(objs))
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for round := range 100 {
		var txns []Transaction
		for i := range 100 {
			typ := TransactionTypeAdd
			if round%2 == 1 {
				typ = TransactionTypeDelete
			}
			txns = append(txns, Transaction{Type: typ, Object: configMap("a", fmt.Sprint(i), round)})
		}
		if err := s.(TransactionStore).Transaction(txns...); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
}

func TestAThreadSafeStoreHoldsAnythingUnderAnyKey(t *testing.T) {
	s := NewThreadSafeStore(Indexers{"text": func(obj any) ([]string, error) { return []string{fmt.Sprint(obj)}, nil }}, Indices{})
	keys := []string{"", "/", "a", "a/b", "a/b/c", "/x", "x/"}
	for i, key := range keys {
		s.Add(key, i%2)
	}
	s.Update("nil", nil)
	if got, ok := s.Get("nil"); got != nil || !ok {
		t.Errorf("nil under a key is %v, %t", got, ok)
	}
	got, _ := s.IndexKeys("text", "1")
	if want := []string{"/", "/x", "a/b"}; !slices.Equal(got, want) {
		t.Errorf("keys are %q, want %q", got, want)
	}
	s.Delete("a/b")
	s.(ThreadSafeStoreWithTransaction).Transaction(
		ThreadSafeStoreTransaction{Key: "t", Transaction: Transaction{Type: TransactionTypeAdd, Object: 7}},
		ThreadSafeStoreTransaction{Key: "", Transaction: Transaction{Type: TransactionTypeDelete}},
		ThreadSafeStoreTransaction{Key: "a", Transaction: Transaction{Type: "unknown"}},
	)
	if got := slices.Sorted(slices.Values(s.ListKeys())); !slices.Equal(got, []string{"/", "/x", "a", "a/b/c", "nil", "t", "x/"}) {
		t.Errorf("keys are %q", got)
	}
	s.Replace(map[string]any{"k": configMap("", "k", 9)}, "12")
	if s.LastStoreSyncResourceVersion() != "12" || len(s.List()) != 1 {
		t.Error("Replace did not replace")
	}
	s.DeleteWithObject("k", configMap("", "k", 13))
	if s.LastStoreSyncResourceVersion() != "13" || len(s.List()) != 0 {
		t.Error("a delete does not take the version of its object")
	}
}

func TestATransformerChangesWhatIsStoredAndStoresNothingIfItFails(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc, WithTransformer(func(obj any) (any, error) {
		c := obj.(*corev1.ConfigMap).DeepCopy()
		if c.Name == "bad" {
			return nil, errors.New("trouble")
		}
		c.Data = map[string]string{"transformed": ""}
		return c, nil
	}))
	list := []any{configMap("a", "1", 1), configMap("a", "2", 2)}
	if err := s.Replace(list, "2"); err != nil {
		t.Fatal(err)
	}
	add(t, s, configMap("a", "3", 3))
	for _, obj := range s.List() {
		if obj.(*corev1.ConfigMap).Data == nil {
			t.Errorf("%v is not transformed", obj)
		}
	}
	for what, err := range map[string]error{
		"Add": s.Add(configMap("a", "bad", 4)), "Replace": s.Replace([]any{configMap("a", "bad", 4)}, "4"),
	} {
		if err == nil || !strings.Contains(err.Error(), "trouble") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(s.List()) != 3 {
		t.Errorf("%d objects", len(s.List()))
	}
}

func TestGetIndexersIsACopyAndAddIndexersIsAllOrNothing(t *testing.T) {
	given := Indexers{"labels": byLabels, "none": nil}
	s := NewIndexer(MetaNamespaceKeyFunc, given)
	add(t, s, configMap("a", "1", 1))
	got := s.GetIndexers()
	delete(got, "labels")
	given["other"] = byLabels
	if n := len(s.GetIndexers()); n != 2 {
		t.Errorf("%d indexers", n)
	}
	if err := s.AddIndexers(Indexers{"a": byLabels, "labels": byLabels, "z": byLabels}); !errors.Is(err, store.ErrIndexExists) {
		t.Errorf("AddIndexers: %v", err)
	}
	for _, name := range []string{"a", "z", "none"} {
		if _, err := s.ByIndex(name, ""); !errors.Is(err, store.ErrNoIndex) {
			t.Errorf("index %q exists", name)
		}
		if _, err := s.IndexKeys(name, ""); !errors.Is(err, store.ErrNoIndex) {
			t.Errorf("index %q exists", name)
		}
		if _, err := s.Index(name, nil); !errors.Is(err, store.ErrNoIndex) {
			t.Errorf("index %q exists", name)
		}
	}
}

func TestAnIndexerOverAnInformersStoreWritesThroughIt(t *testing.T) {
	indexers := Indexers{NamespaceIndex: MetaNamespaceIndexFunc}
	st, err := store.New(store.Options[any]{
		KeyFunc: storeKeyFunc(DeletionHandlingMetaNamespaceKeyFunc), RememberKeys: true, Indexers: storeIndexers(indexers),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newIndexerOver(st, DeletionHandlingMetaNamespaceKeyFunc, indexers, reportError)
	add(t, s, configMap("a", "1", 1), configMap("a", "2", 2))
	if err := s.Delete(DeletedFinalStateUnknown{Key: "a/1"}); err != nil {
		t.Fatal(err)
	}
	if _, ok := st.Get(store.Key{Namespace: "a", Name: "2"}); !ok || st.Len() != 1 || st.ResourceVersion("") != "2" {
		t.Errorf("the store has %d objects at %q", st.Len(), st.ResourceVersion(""))
	}
}

// gaugeProvider gives out one gauge.
type gaugeProvider struct {
	InformerMetricsProvider
	value float64
}

func (p *gaugeProvider) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric { return p }

func (p *gaugeProvider) Set(v float64) { p.value = v }

func TestTheMetricShowsTheVersion(t *testing.T) {
	name, err := NewInformerName(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer name.Release()
	var p gaugeProvider
	id := name.WithResource(schema.GroupVersionResource{Resource: "configmaps"})
	s := NewStore(MetaNamespaceKeyFunc, WithStoreMetrics(id, &p))
	for _, c := range []struct {
		version string
		want    float64
	}{{"7", 7}, {"", 7}, {"x", 7}, {"9123456789012345", 123456789012345}} {
		s.Bookmark(c.version)
		if p.value != c.want {
			t.Errorf("after %q: %v, want %v", c.version, p.value, c.want)
		}
	}
	add(t, s, configMap("a", "1", 11))
	if p.value != 11 {
		t.Errorf("after Add: %v", p.value)
	}
	again := name.WithResource(schema.GroupVersionResource{Resource: "configmaps"})
	NewThreadSafeStore(nil, nil, WithThreadSafeStoreMetrics(again, &p)).Bookmark("5")
	if p.value != 11 {
		t.Error("a store whose name is not reserved has a metric")
	}
}
