package untyped

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// mutation is what becomes of an object between two versions.
type mutation struct {
	*rand.Rand
	// pool has values of other objects.
	pool []any
}

// version changes some of what is in v, which it may write to.
func (r *mutation) version(v any, chance float64) any {
	if r.Float64() < chance {
		return r.other(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch p := r.Float64(); {
			case p < chance/4:
				delete(v, k)
			case p < chance/2:
				v[k+"2"] = v[k]
				delete(v, k)
			default:
				v[k] = r.version(v[k], chance)
			}
		}
		if r.Float64() < chance {
			v["added"] = r.other(nil)
		}
	case []any:
		for i := range v {
			v[i] = r.version(v[i], chance)
		}
		switch p := r.Float64(); {
		case len(v) > 0 && p < chance/2:
			return slices.Delete(v, 0, 1)
		case p < chance:
			return append(v, r.other(nil))
		}
	}
	return v
}

func (r *mutation) other(v any) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return float64(r.IntN(1000)) / 8
	case 3:
		return int64(r.Uint64()) >> r.IntN(64)
	case 4:
		return []any{}
	case 5:
		return map[string]any{}
	case 6:
		if s, ok := v.(string); ok {
			return s + `"\ü` + strings.Repeat("x", r.IntN(3))
		}
		return "text"
	}
	if len(r.pool) == 0 {
		return nil
	}
	return r.pool[r.IntN(len(r.pool))]
}

// remember takes values of v into the pool.
func (r *mutation) remember(v any) {
	if len(r.pool) < 1000 {
		r.pool = append(r.pool, v)
	} else {
		r.pool[r.IntN(len(r.pool))] = v
	}
	if m, ok := v.(map[string]any); ok {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			r.remember(m[k])
		}
	}
}

// copied is a deep copy.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = copied(e)
		}
		return m
	case []any:
		s := make([]any, len(v))
		for i, e := range v {
			s[i] = copied(e)
		}
		return s
	}
	return v
}

// encode returns v as JSON, now and then with space in it, or with its members
// the other way round.
func (r *mutation) encode(t testing.TB, v any) []byte {
	t.Helper()
	if r.IntN(10) == 0 {
		return r.reversed(nil, v)
	}
	raw, err := json.Marshal(v)
	if r.IntN(20) == 0 {
		raw, err = json.MarshalIndent(v, " ", "\t")
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (r *mutation) reversed(b []byte, v any) []byte {
	m, ok := v.(map[string]any)
	if !ok {
		raw, _ := json.Marshal(v)
		return append(b, raw...)
	}
	b = append(b, '{')
	names := slices.Sorted(maps.Keys(m))
	slices.Reverse(names)
	for i, k := range names {
		if i > 0 {
			b = append(b, ',')
		}
		raw, _ := json.Marshal(k)
		b = append(append(b, raw...), ':')
		b = r.reversed(b, m[k])
	}
	return append(b, '}')
}
