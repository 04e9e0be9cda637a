//go:build unix

package page_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/pagesamples"
	"github.com/kinglet-go/kinglet/page"
)

// cpu is what the process was charged so far.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var looks = []struct{ name, target string }{
	{"the page", "/"}, {"all lines", "/?all=1"}, {"JSON", "/?format=json"},
}

func thousand() func(t testing.TB, target string) {
	c := pagesamples.New()
	many := c.Many(1000)
	h := page.Handler(c.Set(many))
	return func(t testing.TB, target string) { get(t, h, target) }
}

func BenchmarkPageOf1000Informers(b *testing.B) {
	for _, l := range looks {
		b.Run(l.name, func(b *testing.B) {
			look := thousand()
			look(b, l.target)
			b.ReportAllocs()
			began := cpu(b)
			for b.Loop() {
				look(b, l.target)
			}
			b.ReportMetric(float64((cpu(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
