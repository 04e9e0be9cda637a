package main

import (
	"io"
	"strings"
	"testing"
)

const text = `package cache

type T struct{}

func (t *T) Run() {
	go func() {
		println()
	}()
}

func (g G[K, V]) Get() { println() }

type KeyError struct{}

func (KeyError) Error() string { return "" }

var x = func() int { return 1 }()

func idle() { println() }

func watch(store T) {
	if stored {
		store.Add(nil)
	}
}
`

func parsed(t *testing.T) functions {
	spans, err := spansOf("f.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return functions{"f.go": source{spans, strings.Split(text, "\n")}}
}

func TestWhatRanIsNamedByFunctionAndMethod(t *testing.T) {
	profile := "mode: set\n" +
		watched + "/f.go:6.12,8.3 1 1\n" + // inside Run's literal
		watched + "/f.go:11.24,11.35 1 7\n" +
		watched + "/f.go:15.32,15.42 1 1\n" +
		watched + "/f.go:17.20,17.32 1 1\n" + // a variable's
		watched + "/f.go:19.13,19.25 1 0\n" +
		watched + "/testing/f.go:19.13,19.25 1 1\n" +
		"k8s.io/elsewhere/f.go:19.13,19.25 1 1\n"
	ran, err := executed(profile, parsed(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(ran) != 3 || !ran["T.Run"] || !ran["G.Get"] || !ran["KeyError.Error"] {
		t.Errorf("ran: %v", ran)
	}
}

func TestALineThatStoresAnObjectIsNamed(t *testing.T) {
	profile := "mode: set\n" + watched + "/f.go:21.22,22.12 1 1\n" + watched + "/f.go:22.12,24.3 1 "
	for count, want := range map[string]int{"0\n": 1, "1\n": 2} {
		ran, err := executed(profile+count, parsed(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(ran) != want || !ran["watch"] {
			t.Errorf("ran: %v", ran)
		}
	}
}

func TestAProfileOfSomethingElseProvesNothing(t *testing.T) {
	for _, profile := range []string{"", "mode: set\n", "mode: set\nk8s.io/elsewhere/f.go:1.1,2.2 1 1\n", "nonsense\n"} {
		if _, err := executed(profile, parsed(t)); err == nil {
			t.Errorf("%q is accepted", profile)
		}
	}
}

func TestWhatIsNotOnTheListIsNamed(t *testing.T) {
	funcs := parsed(t)
	var list source
	for name := range allowed {
		typ, method, _ := strings.Cut(name, ".")
		if method == "*" {
			name = typ + ".M"
		}
		list.spans = append(list.spans, span{name, 1, 1})
	}
	funcs["list.go"] = list
	if err := judge(map[string]bool{"KeyError.Error": true}, funcs, io.Discard); err != nil {
		t.Error(err)
	}
	err := judge(map[string]bool{"KeyError.Error": true, "T.Run": true}, funcs, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "T.Run") || strings.Contains(err.Error(), "KeyError") {
		t.Error(err)
	}
	delete(funcs, "list.go")
	if err := judge(nil, funcs, io.Discard); err == nil {
		t.Error("a list of what does not exist is accepted")
	}
}
