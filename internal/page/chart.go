package page

import (
	"fmt"
	"html/template"
	"strconv"

	"github.com/kinglet-go/kinglet/internal/quantity"
)

// Charts contain only numbers that this package formats, so their text needs no
// escaping.

// spark draws the last samples, smoothed, as a line of 96 by 18 without words; empty if
// there is nothing to see. The newest sample is at the right.
func spark(values []float32) template.HTML {
	values = smooth(values)
	top := peak(values)
	if len(values) < 2 || top <= 0 {
		return ""
	}
	b := make([]byte, 0, 512)
	b = append(b, `<svg class="spark" viewBox="0 0 96 18" width="96" height="18" aria-hidden="true" focusable="false"><path d="`...)
	b = appendLine(b, values, top, 96, 18)
	b = append(b, `"/></svg>`...)
	return template.HTML(b)
}

// chart draws ten minutes with a scale.
func chart(title, unit string, values []float32) template.HTML {
	if len(values) < 2 {
		return ""
	}
	top := peak(values)
	most, last := quantity.Rate(float64(top)), quantity.Rate(float64(values[len(values)-1]))
	if top == 0 {
		top = 1
	}
	words := fmt.Sprintf("%s over the last ten minutes: now %s%s, at most %s%s", title, last, unit, most, unit)
	b := make([]byte, 0, 2048)
	b = fmt.Appendf(b, `<figure class="chart"><figcaption>%s <b>%s%s</b> <span class="dim">most %s%s</span></figcaption>`, title, last, unit, most, unit)
	b = fmt.Appendf(b, `<svg viewBox="0 0 240 48" preserveAspectRatio="none" role="img" aria-label="%s"><path class="grid" d="M0 .5H240M0 24H240M0 47.5H240M60 0V48M120 0V48M180 0V48"/><path class="line" d="`, words)
	b = appendLine(b, values, top, 240, 48)
	b = append(b, `"/></svg><div class="axis" aria-hidden="true"><span>10 min ago</span><span>now</span></div></figure>`...)
	return template.HTML(b)
}

// smooth returns the mean of each value and the five before it, since most samples show
// none of the events that occur once in 20 s.
func smooth(values []float32) []float32 {
	const span = 6
	out := make([]float32, len(values))
	var sum float32
	for k, v := range values {
		if sum += v; k >= span {
			sum -= values[k-span]
		}
		out[k] = sum / float32(min(k+1, span))
	}
	return out
}

func peak(values []float32) (top float32) {
	for _, v := range values {
		top = max(top, v)
	}
	return top
}

// appendLine writes a path through values.
func appendLine(b []byte, values []float32, top float32, width, height float64) []byte {
	step := width / float64(samples-1)
	left := width - step*float64(len(values)-1)
	pen := byte('M')
	for k, v := range values {
		b = append(b, pen)
		b = strconv.AppendFloat(b, left+step*float64(k), 'f', 1, 64)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, height-1-float64(v/top)*(height-2), 'f', 1, 64)
		pen = 'L'
	}
	return b
}
