package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// barChart compares two engines, a pair of bars for each label. Less is better
// or more is better; Better says it.
type barChart struct {
	File   string
	Title  string
	Unit   string
	Better string
	Pairs  []pair
}

type pair struct {
	Label             string
	ClientGo, Kinglet float64
}

// Measures of a chart, in pixels.
const (
	chartWidth = 760
	plotLeft   = 190
	plotRight  = 600
	plotTop    = 74
	barHeight  = 15
	pairHeight = 2*barHeight + 18
	fontSize   = 13
)

// style keeps text and bars readable on white and on black, where a page's
// reader prefers the one or the other. Nothing is drawn behind them.
const style = `
text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #3d444d }
.title { font-size: 16px; font-weight: 600 }
.quiet { fill: #656d76; font-size: 12px }
.ratio { font-weight: 600; fill: #0b6bcb }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.clientgo { fill: #9aa4ae }
.kinglet { fill: #1f7ae0 }
@media (prefers-color-scheme: dark) {
  text { fill: #d1d7e0 }
  .quiet { fill: #9198a1 }
  .ratio { fill: #6cb0ff }
  .grid { stroke: #3d444d }
  .clientgo { fill: #6b7683 }
  .kinglet { fill: #4c9bf5 }
}
`

// svg draws the chart.
func (c *barChart) svg() []byte {
	var b bytes.Buffer
	bottom := plotTop + len(c.Pairs)*pairHeight
	height := bottom + 46
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		chartWidth, height, chartWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", escape(c.Title+", "+c.Unit), style)
	write(&b, 8, 20, "title", "start", c.Title)
	write(&b, 8, 42, "quiet", "start", c.Unit+"; "+c.Better)
	legend(&b)
	top := c.scale()
	at := func(v float64) float64 { return plotLeft + v/top*(plotRight-plotLeft) }
	step := tick(top)
	for v := 0.0; v <= top*1.0001; v += step {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", at(v), plotTop-6, at(v), bottom)
		write(&b, at(v), float64(bottom+17), "quiet", "middle", thousands(v))
	}
	write(&b, (plotLeft+plotRight)/2, float64(bottom+38), "quiet", "middle", c.Unit)
	for i, p := range c.Pairs {
		y := float64(plotTop + i*pairHeight)
		write(&b, plotLeft-12, y+barHeight+fontSize/3, "", "end", p.Label)
		for k, bar := range []struct {
			class string
			v     float64
		}{{"clientgo", p.ClientGo}, {"kinglet", p.Kinglet}} {
			if bar.v <= 0 {
				continue
			}
			top := y + float64(k*(barHeight+1))
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%.1f" width="%.1f" height="%d" rx="2"/>`+"\n",
				bar.class, plotLeft, top, math.Max(at(bar.v)-plotLeft, 1), barHeight)
			write(&b, at(bar.v)+6, top+barHeight-3.5, "quiet", "start", thousands(bar.v))
		}
		if p.ClientGo > 0 && p.Kinglet > 0 {
			write(&b, chartWidth-8, y+barHeight+fontSize/3, "ratio", "end", factor(p))
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// factor is how many times less or more kinglet's figure is.
func factor(p pair) string {
	ratio := p.ClientGo / p.Kinglet
	switch {
	case ratio > 0.995 && ratio < 1.005:
		return "equal"
	case ratio > 1:
		return fmt.Sprintf("%.3g× less", ratio)
	}
	return fmt.Sprintf("%.3g× more", 1/ratio)
}

func legend(b *bytes.Buffer) {
	x := float64(chartWidth - 190)
	for _, e := range []struct{ class, name string }{{"clientgo", clientGo}, {"kinglet", kinglets}} {
		fmt.Fprintf(b, `<rect class="%s" x="%.0f" y="9" width="12" height="12" rx="2"/>`+"\n", e.class, x)
		write(b, x+18, 20, "", "start", e.name)
		x += 105
	}
}

func write(b *bytes.Buffer, x, y float64, class, anchor, text string) {
	fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, escape(text))
}

func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// scale is where the axis ends: at a tick at or beyond the longest bar.
func (c *barChart) scale() float64 {
	most := 0.0
	for _, p := range c.Pairs {
		most = max(most, p.ClientGo, p.Kinglet)
	}
	if most == 0 {
		return 1
	}
	step := tick(most)
	return math.Ceil(most/step) * step
}

// tick is a round distance that goes into top four to eight times.
func tick(top float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(top)))
	for _, k := range []float64{1, 0.5, 0.2, 0.1} {
		if top/(unit*k) >= 4 {
			return unit * k
		}
	}
	return unit * 0.1
}

// thousands writes three digits or so, in groups.
func thousands(v float64) string {
	if v != 0 && v < 100 {
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(math.Max(v, 1)))), v), "0"), ".")
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
