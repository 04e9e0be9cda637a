package share

import (
	"fmt"
	"testing"
	"unsafe"
)

func TestAStringThatComesAgainSoonIsOneAndTheTableDoesNotLearnOfIt(t *testing.T) {
	for name, get := range map[string]func(s *Session, b []byte) string{
		"String": (*Session).String,
		"Boxed":  func(s *Session, b []byte) string { return *s.Boxed(b) },
	} {
		s := NewSession(NewTable(0))
		for i := range 100 {
			b := fmt.Appendf(nil, "10.1.2.%d", i)
			first := get(s, b)
			for j := range 5 {
				get(s, fmt.Appendf(nil, "between %d %d", i, j))
			}
			if again := get(s, b); unsafe.StringData(again) != unsafe.StringData(first) {
				t.Fatalf("%s: %q became two strings", name, b)
			}
		}
		if n := s.Table.Stats().Strings; n > 2 {
			t.Errorf("%s: the table learnt %d strings", name, n)
		}
	}
}

func TestAStringThatComesAgainLateIsTheTables(t *testing.T) {
	s := NewSession(NewTable(0))
	at := map[*byte]bool{}
	for round := range 4 {
		for i := range 50 {
			b := fmt.Appendf(nil, "node-%d", i)
			text := s.String(b)
			if round >= 2 {
				at[unsafe.StringData(text)] = true
			}
		}
	}
	// A bucket may be full before the others, and forget one.
	if len(at) > 70 {
		t.Errorf("50 strings are %d from their third sighting on", len(at))
	}
	check(t, s.Table)
}

func TestASessionsStringsAreWhatTheirBytesWereAndNeverAliasThem(t *testing.T) {
	r := seeded(t)
	s := NewSession(NewTable(30_000))
	kept := map[string]string{}
	for op := range 20_000 {
		n := r.IntN(20) * r.IntN(20)
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(n * i >> 3)
		}
		want := string(b)
		got := ""
		if r.IntN(2) == 0 {
			got = s.String(b)
		} else {
			got = *s.Boxed(b)
		}
		clear(b)
		if got != want {
			t.Fatalf("operation %d: %d bytes became another string", op, n)
		}
		kept[want] = got
	}
	for want, got := range kept {
		if want != got {
			t.Fatal("a string has changed since it was returned")
		}
	}
	check(t, s.Table)
}
