package cache

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kc "k8s.io/client-go/tools/cache"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func seeded(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 1))
}

func configMap(namespace, name string, version int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(version),
	}}
}

// byLabels has any number of values for an object.
func byLabels(obj any) ([]string, error) {
	return slices.Sorted(maps.Values(obj.(*corev1.ConfigMap).Labels)), nil
}

// Names and namespaces with slashes are none that a server accepts, and are in
// stores of programs all the same.
var (
	oddNames      = []string{"", "a", "b", "a/b", "/b", "b/", "a/b/c", "web-0", "web-1"}
	oddNamespaces = []string{"", "", "a", "default", "a/b", "/a", "kube-system"}
)

func oddConfigMap(r *rand.Rand, version int) *corev1.ConfigMap {
	c := configMap(oddNamespaces[r.IntN(len(oddNamespaces))], oddNames[r.IntN(len(oddNames))], version)
	if r.IntN(3) > 0 {
		c.Name += strconv.Itoa(r.IntN(20))
	}
	c.Labels = map[string]string{}
	for range r.IntN(4) {
		c.Labels[strconv.Itoa(r.IntN(9))] = strconv.Itoa(r.IntN(6))
	}
	return c
}

// twins are an Indexer of this package and client-go's own.
type twins struct {
	t         *testing.T
	r         *rand.Rand
	ours      Indexer
	theirs    kc.Indexer
	version   int
	lateIndex bool
}

func (p *twins) both(what string, do func(kc.Indexer) error) {
	p.t.Helper()
	a, b := do(p.ours), do(p.theirs)
	if (a == nil) != (b == nil) {
		p.t.Fatalf("%s: %v, client-go: %v", what, a, b)
	}
}

func (p *twins) object() *corev1.ConfigMap {
	p.version++
	return oddConfigMap(p.r, p.version)
}

// anyKey is that of an object that is there, mostly.
func (p *twins) anyKey() string {
	keys := slices.Sorted(slices.Values(p.theirs.ListKeys()))
	if len(keys) == 0 || p.r.IntN(5) == 0 {
		return "absent"
	}
	return keys[p.r.IntN(len(keys))]
}

func (p *twins) step() {
	switch n := p.r.IntN(100); {
	case n < 30:
		obj := p.object()
		p.both("Add", func(i kc.Indexer) error { return i.Add(obj) })
	case n < 60:
		obj := p.object()
		p.both("Update", func(i kc.Indexer) error { return i.Update(obj) })
	case n < 80:
		obj := p.object()
		p.both("Delete", func(i kc.Indexer) error { return i.Delete(obj) })
	case n < 85:
		gone := DeletedFinalStateUnknown{Key: p.anyKey()}
		if p.r.IntN(2) == 0 {
			gone.Obj = p.object()
		}
		p.both("Delete of an unknown state", func(i kc.Indexer) error { return i.Delete(gone) })
	case n < 90:
		p.version++
		list := make([]any, p.r.IntN(80))
		for i := range list {
			list[i] = oddConfigMap(p.r, p.version)
		}
		p.both("Replace", func(i kc.Indexer) error { return i.Replace(slices.Clone(list), strconv.Itoa(p.version)) })
	case n < 92:
		p.version++
		p.both("Bookmark", func(i kc.Indexer) error { i.Bookmark(strconv.Itoa(p.version)); return nil })
	case n < 97:
		txns := make([]Transaction, 1+p.r.IntN(5))
		for i := range txns {
			kinds := []TransactionType{TransactionTypeAdd, TransactionTypeUpdate, TransactionTypeDelete}
			txns[i] = Transaction{Object: p.object(), Type: kinds[p.r.IntN(3)]}
		}
		p.both("Transaction", func(i kc.Indexer) error {
			if err := i.(kc.TransactionStore).Transaction(txns...); err != nil {
				return err
			}
			return nil
		})
	case n < 98 && !p.lateIndex:
		p.lateIndex = true
		p.both("AddIndexers", func(i kc.Indexer) error {
			return i.AddIndexers(kc.Indexers{"late": func(obj any) ([]string, error) { return []string{obj.(*corev1.ConfigMap).Name}, nil }})
		})
	default:
		p.both("AddIndexers of a name in use", func(i kc.Indexer) error {
			return i.AddIndexers(kc.Indexers{"labels": byLabels, "never": byLabels})
		})
	}
}

func (p *twins) compare() {
	p.t.Helper()
	same := func(what string, do func(kc.Indexer) any) {
		p.t.Helper()
		if a, b := fmt.Sprint(do(p.ours)), fmt.Sprint(do(p.theirs)); a != b {
			p.t.Fatalf("%s is\n%s\nand client-go's is\n%s", what, a, b)
		}
	}
	same("List", func(i kc.Indexer) any { return identities(i.List()) })
	same("ListKeys", func(i kc.Indexer) any { return slices.Sorted(slices.Values(i.ListKeys())) })
	same("LastStoreSyncResourceVersion", func(i kc.Indexer) any { return i.LastStoreSyncResourceVersion() })
	for _, key := range append(p.theirs.ListKeys(), "absent", "", "/", "a/", "//") {
		same("GetByKey "+key, func(i kc.Indexer) any {
			obj, ok, err := i.GetByKey(key)
			return fmt.Sprintf("%p %t %v", obj, ok, err)
		})
	}
	probe := p.object()
	same("Get", func(i kc.Indexer) any {
		obj, ok, err := i.Get(probe)
		return fmt.Sprintf("%p %t %v", obj, ok, err)
	})
	for name := range p.theirs.GetIndexers() {
		same("ListIndexFuncValues "+name, func(i kc.Indexer) any { return slices.Sorted(slices.Values(i.ListIndexFuncValues(name))) })
		same("Index "+name, func(i kc.Indexer) any { objs, err := i.Index(name, probe); return fmt.Sprint(identities(objs), err) })
		for _, value := range append(p.theirs.ListIndexFuncValues(name), "absent") {
			same("ByIndex "+name+value, func(i kc.Indexer) any { objs, err := i.ByIndex(name, value); return fmt.Sprint(identities(objs), err) })
			same("IndexKeys "+name+value, func(i kc.Indexer) any { keys, err := i.IndexKeys(name, value); return fmt.Sprint(keys, err) })
		}
	}
	same("GetIndexers", func(i kc.Indexer) any { return slices.Sorted(maps.Keys(i.GetIndexers())) })
	if err := p.ours.(*indexer).store.Check(); err != nil {
		p.t.Fatal(err)
	}
}

// identities tell objects apart by their pointers, in any order.
func identities(objs []any) []string {
	ids := make([]string, len(objs))
	for i, obj := range objs {
		ids[i] = fmt.Sprintf("%p", obj)
	}
	slices.SortFunc(ids, cmp.Compare)
	return ids
}

func TestAnIndexerAnswersLikeClientGos(t *testing.T) {
	for name, fn := range map[string]KeyFunc{
		"its own key function":         MetaNamespaceKeyFunc,
		"client-go's key function":     kc.MetaNamespaceKeyFunc,
		"the one that takes deletions": DeletionHandlingMetaNamespaceKeyFunc,
		"a key function of a program's": func(obj any) (string, error) {
			c, ok := obj.(*corev1.ConfigMap)
			if !ok {
				return "", errors.New("not a ConfigMap")
			}
			return c.Name + "/" + c.Namespace + "/x", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			indexers := func() kc.Indexers {
				return kc.Indexers{NamespaceIndex: MetaNamespaceIndexFunc, "labels": byLabels}
			}
			p := &twins{t: t, r: seeded(t), ours: NewIndexer(fn, indexers()), theirs: kc.NewIndexer(kc.KeyFunc(fn), indexers())}
			for i := range 1500 {
				p.step()
				if i%50 == 0 {
					p.compare()
				}
			}
			p.compare()
		})
	}
}

func TestAStoreReadsTheKeyThatTheFunctionWouldMake(t *testing.T) {
	r := seeded(t)
	keys := keyingBy(DeletionHandlingMetaNamespaceKeyFunc)
	if !keys.meta || !keys.tombstones {
		t.Fatal("the function is not recognised")
	}
	if k := keyingBy(func(obj any) (string, error) { return MetaNamespaceKeyFunc(obj) }); k.meta {
		t.Fatal("a function of the program's is taken for another")
	}
	for i := range 3000 {
		var obj any = oddConfigMap(r, i)
		switch i % 5 {
		case 0:
			obj = DeletedFinalStateUnknown{Key: oddNames[r.IntN(len(oddNames))], Obj: obj}
		case 1:
			obj = ExplicitKey(oddNames[r.IntN(len(oddNames))])
		case 2:
			obj = metadataOnly{obj.(*corev1.ConfigMap).GetObjectMeta()}
		}
		want, err := kc.DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil {
			t.Fatal(err)
		}
		got, err := keys.key(obj)
		if err != nil || got.String() != want {
			t.Fatalf("the key of %#v is %q, want %q: %v", obj, got.String(), want, err)
		}
	}
}

// metadataOnly is no object, and leads to one's metadata.
type metadataOnly struct{ m metav1.Object }

func (o metadataOnly) GetObjectMeta() metav1.Object { return o.m }
