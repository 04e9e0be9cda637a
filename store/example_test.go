package store_test

import (
	"fmt"

	"github.com/kinglet-go/kinglet/store"
)

type service struct{ namespace, name, app string }

func newServices() *store.Store[*service] {
	s, err := store.New(store.Options[*service]{
		KeyFunc: func(s *service) (store.Key, error) {
			return store.Key{Namespace: s.namespace, Name: s.name}, nil
		},
		Indexers: map[string]store.IndexFunc[*service]{
			"app": func(s *service) ([]string, error) { return []string{s.app}, nil },
		},
	})
	if err != nil {
		panic(err)
	}
	for _, svc := range []*service{{"shop", "cart", "web"}, {"shop", "pay", "web"}, {"ops", "graphs", "metrics"}} {
		if err := s.Put(svc); err != nil {
			panic(err)
		}
	}
	return s
}

func Example() {
	s := newServices()
	svc, ok := s.Get(store.Key{Namespace: "shop", Name: "pay"})
	fmt.Println(svc.name, ok)
	web, err := s.ByIndex("app", "web")
	if err != nil {
		panic(err)
	}
	for svc := range web {
		fmt.Println(svc.namespace, svc.name)
	}
	// Output:
	// pay true
	// shop cart
	// shop pay
}

func ExampleStore_Snapshot() {
	s := newServices()
	before := s.Snapshot()
	s.Delete(store.Key{Namespace: "shop", Name: "pay"})
	fmt.Println(before.Len(), s.Len())
	for key := range before.Keys() {
		fmt.Println(key)
	}
	// Output:
	// 3 2
	// ops/graphs
	// shop/cart
	// shop/pay
}

func ExampleStore_Replace() {
	s := newServices()
	changes, err := s.Replace(store.Batch[*service]{
		Scope: store.Scope{ID: "shop", Contains: func(k store.Key) bool { return k.Namespace == "shop" }},
		Ops: []store.Op[*service]{
			{Key: store.Key{Namespace: "shop", Name: "cart"}, Object: &service{"shop", "cart", "web-2"}},
		},
		ResourceVersion: "42",
	}, nil)
	if err != nil {
		panic(err)
	}
	for _, c := range changes {
		fmt.Println(c.Type, c.Key, c.ResourceVersion)
	}
	fmt.Println(s.Len(), s.ResourceVersion("shop"))
	// Output:
	// Updated shop/cart 42
	// Deleted shop/pay 42
	// 2 42
}

func ExampleSnapshot_Prefix() {
	for svc := range newServices().Snapshot().Prefix(store.Key{Namespace: "shop", Name: "p"}) {
		fmt.Println(svc.name)
	}
	// Output: pay
}

func ExampleStore_AddIndex() {
	s := newServices()
	err := s.AddIndex("initial", func(s *service) ([]string, error) { return []string{s.name[:1]}, nil })
	n, _ := s.IndexCount("initial", "c")
	fmt.Println(s.Indexes(), n, err)
	// Output: [app initial] 1 <nil>
}

func ExampleSnapshot_Check() {
	fmt.Println(newServices().Snapshot().Check())
	// Output: <nil>
}
