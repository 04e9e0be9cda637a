package untyped

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// pods makes pods of 10 KB that are alike in the way that real ones are, from
// the text of one.
type pods struct {
	text string
	// templates is over how many templates they are, each with its own names,
	// variables and fields.
	templates int
}

func newPods(t testing.TB, templates int) *pods {
	t.Helper()
	raw, err := os.ReadFile("../scan/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	return &pods{text: string(raw), templates: templates}
}

// template returns a pod of template k, whose own text is that of any other.
func (p *pods) template(k int) string {
	return strings.NewReplacer(
		"000012", fmt.Sprintf("%06d", k),
		"kxh6wl6cbk", fmt.Sprintf("kxh6wl%04x", k),
		"tenant-001", fmt.Sprintf("tenant-%03d", k%50),
		"77c74b35-4b58", fmt.Sprintf("77c74b35-%04x", k),
		"082bdb7d029a", fmt.Sprintf("082bdb7d%04x", k),
		"5e3e0aef4d04", fmt.Sprintf("5e3e0aef%04x", k),
		"8a4de848e472", fmt.Sprintf("8a4de848%04x", k),
	).Replace(p.text)
}

// pod is a pod whose own text can be written over: it is a pod of its own, and
// another version of itself, for each number.
type pod struct {
	raw []byte
	// own and status are where text is that is the pod's, and where text
	// changes with its status; unlike is where text is the template's.
	own, status, unlike []place
}

// place is n digits of base at an offset in raw, of a number divided by div;
// of base 60 two digits.
type place struct{ at, n, base, div int }

func (p *pods) pod(k int) *pod {
	raw := []byte(p.template(k % p.templates))
	d := &pod{raw: raw}
	find := func(to *[]place, text string, most int, places ...place) {
		for at := 0; most > 0; most-- {
			i := bytes.Index(raw[at:], []byte(text))
			if i < 0 {
				return
			}
			at += i
			for _, p := range places {
				p.at += at
				*to = append(*to, p)
			}
			at += len(text)
		}
	}
	// Hours, minutes and seconds of a time that begins with quote.
	clock := func(from int) []place {
		return []place{{from + 13, 1, 10, 3600}, {from + 15, 2, 60, 60}, {from + 18, 2, 60, 1}}
	}
	hexadecimal := place{0, 16, 16, 1}
	version := place{0, 9, 10, 1}
	const all = 100
	find(&d.own, "-dbp72", all, place{1, 5, 16, 1})
	find(&d.own, `"uid":"e4a9bce2-47b0`, all, place{7, 8, 16, 1})
	for _, id := range []string{"9c0a24021b0f92da", "b4988f339b7446b2", "00e93fcdb16599e8"} {
		find(&d.own, id, all, hexadecimal)
	}
	find(&d.own, "10.64.4.210", all, place{8, 3, 10, 1}, place{3, 2, 10, 1000})
	for _, at := range []string{"14", "18", "26", "35"} {
		find(&d.own, `"2025-08-01T08:41:`+at, all, clock(0)...)
	}
	find(&d.own, "100022879", all, version)
	find(&d.status, "100022879", all, version)
	find(&d.status, `"2025-08-01T08:41:35`, all, clock(0)...)
	find(&d.status, `"startedAt":"2025-08-01T08:41:26`, 1, clock(12)...)
	find(&d.status, "b4988f339b7446b2", all, hexadecimal)
	find(&d.status, `"restartCount":0`, 1, place{15, 1, 10, 1})
	find(&d.unlike, fmt.Sprintf("service-%06d", k%p.templates), all, place{8, 6, 10, 1})
	for _, id := range []string{"kxh6wl", "77c74b35", "082bdb7d", "5e3e0aef", "8a4de848", "runAsUser", "z9sdp", "default-sch"} {
		find(&d.unlike, id, all, place{0, 5, 16, 1})
	}
	return d
}

// become writes number i over the pod's own text, and over its node's.
func (d *pod) become(i int) {
	write(d.raw, d.own, i)
	node := []byte(fmt.Sprintf("%05d", i/40%1000))
	at := bytes.Index(d.raw, []byte(`"node-`)) + 6
	copy(d.raw[at:], node)
	for from := 0; ; {
		k := bytes.Index(d.raw[from:], []byte("172.16.0."))
		if k < 0 {
			return
		}
		copy(d.raw[from+k+9:], node[2:])
		from += k + 9
	}
}

// restart writes number i over what changes when a container is restarted.
func (d *pod) restart(i int) { write(d.raw, d.status, i) }

// differ writes number i over what is the template's.
func (d *pod) differ(i int) { write(d.raw, d.unlike, i) }

func write(raw []byte, places []place, number int) {
	for _, p := range places {
		v := uint64(number / p.div)
		switch p.base {
		case 60:
			raw[p.at], raw[p.at+1] = '0'+byte(v/10%6), '0'+byte(v%10)
			continue
		case 16:
			// Mixed, so that all digits change.
			v *= 0x9e3779b97f4a7c15
		}
		for i := p.at + p.n - 1; i >= p.at; i-- {
			raw[i] = "0123456789abcdef"[v%uint64(p.base)]
			v /= uint64(p.base)
		}
	}
}
