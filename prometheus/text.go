package prometheus

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/kinglet-go/kinglet/status"
)

// escapeHelp is how the text format has help.
var escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// appendLabel appends a label with its value escaped.
func appendLabel(b []byte, name, value string) []byte {
	b = append(append(b, name...), '=', '"')
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// textWriter writes Prometheus' text format, in which all series of a family stand
// together while the scrape goes from informer to informer.
type textWriter struct {
	// series has those of each family, by family.id.
	series [][]byte
}

// start begins a series with its labels, up to where the value goes.
func (w *textWriter) start(f *family, suffix string, l labels, more []*pair, last string) []byte {
	b := w.series[f.id]
	b = append(b, f.name...)
	b = append(b, suffix...)
	sep := byte('{')
	for _, text := range [...]string{l.text, last} {
		if text != "" {
			b = append(append(b, sep), text...)
			sep = ','
		}
	}
	for _, p := range more {
		b = append(append(b, sep), p.text...)
		sep = ','
	}
	if sep == ',' {
		b = append(b, '}')
	}
	return append(b, ' ')
}

func (w *textWriter) sample(f *family, l labels, more []*pair, value float64) {
	w.series[f.id] = append(appendValue(w.start(f, "", l, more, ""), value), '\n')
}

func appendValue(b []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// boundLabels are the buckets', as labels.
var boundLabels = func() (out [len(bounds) + 1]string) {
	for i, bound := range bounds {
		out[i] = `le="` + strconv.FormatFloat(bound, 'g', -1, 64) + `"`
	}
	out[len(bounds)] = `le="+Inf"`
	return out
}()

func (w *textWriter) histogram(f *family, l labels, h *status.Histogram) {
	n := uint64(0)
	for i, count := range h.Counts {
		n += count
		w.series[f.id] = append(strconv.AppendUint(w.start(f, "_bucket", l, nil, boundLabels[i]), n, 10), '\n')
	}
	w.sumAndCount(f, l, h.Sum.Seconds(), n)
}

func (w *textWriter) sumAndCount(f *family, l labels, sum float64, count uint64) {
	w.series[f.id] = append(appendValue(w.start(f, "_sum", l, nil, ""), sum), '\n')
	w.series[f.id] = append(strconv.AppendUint(w.start(f, "_count", l, nil, ""), count, 10), '\n')
}

// contentType is that of the text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// ServeHTTP answers with the same metrics in Prometheus' text format, without a registry:
// for processes with hundreds of informers, since a registry's checks and its sorting cost
// several times what reading the informers does. It does not compress. [Collector.With]
// is for programs that have other metrics as well.
func (c *Collector) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", contentType)
	c.writeText(w)
}

// writeText writes all metrics. An error of w ends it: the client has gone.
func (c *Collector) writeText(w io.Writer) {
	text := c.writers.Get().(*textWriter)
	defer c.writers.Put(text)
	for i := range text.series {
		text.series[i] = text.series[i][:0]
	}
	c.collect(&scrape{now: c.now(), text: text})
	for _, f := range c.families.served {
		if len(text.series[f.id]) == 0 {
			continue
		}
		head := "# HELP " + f.name + " " + escapeHelp.Replace(f.help) + "\n# TYPE " + f.name + " " + f.kind.String() + "\n"
		if _, err := io.WriteString(w, head); err != nil {
			return
		}
		if _, err := w.Write(text.series[f.id]); err != nil {
			return
		}
	}
}
