package screen

import (
	"io"
	"math"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/kinglet-go/kinglet/internal/trouble"
)

// live draws through mpb, whose one goroutine owns the terminal: what is
// written above the bars is written in the same breath in which they are
// erased and drawn again.
type live struct {
	bars *mpb.Progress
	out  io.Writer // nil if stdout is the terminal that the bars are on
	rows int       // bars added so far; Progress is called by one goroutine
}

func newLive(terminal *os.File, out io.Writer) *live {
	return &live{bars: mpb.New(mpb.WithOutput(terminal)), out: out}
}

func (l *live) Event(lines []byte) error {
	if l.out != nil {
		_, err := l.out.Write(lines)
		return err
	}
	_, err := l.bars.Write(append([]byte(home), lines...))
	return err
}

// home goes to the beginning of the line and clears it. mpb only goes up, so
// that typed text, ^C at least, would leave a part of a row behind.
const home = "\r\x1b[K"

func (l *live) Note(line string) {
	// The only error is that the terminal has gone.
	_, _ = io.WriteString(l.bars, home+trouble.Printable(line)+"\n")
}

func (l *live) Progress(read func() Progress) (remove func()) {
	l.rows++
	bar := l.bars.MustAdd(0, row(progressRow(read)), mpb.BarFillerTrim(), mpb.BarPriority(l.rows))
	return func() { bar.Abort(true) }
}

// row clears what is left of another one before it is drawn.
func row(filler mpb.BarFiller) mpb.BarFiller {
	return mpb.BarFillerFunc(func(w io.Writer, stat decor.Statistics) error {
		if _, err := io.WriteString(w, home); err != nil {
			return err
		}
		return filler.Fill(w, stat)
	})
}

func (l *live) Status(read func(width int) string) {
	line := mpb.BarFillerFunc(func(w io.Writer, stat decor.Statistics) error {
		_, err := io.WriteString(w, fit(read(stat.AvailableWidth), stat.AvailableWidth))
		return err
	})
	l.bars.MustAdd(0, row(line), mpb.BarFillerTrim(), mpb.BarPriority(math.MaxInt))
}

func (l *live) Live() bool { return true }

func (l *live) Close() { l.bars.Shutdown() }

// Widths of a progress row. The bar gives way first, then the text.
const (
	maxBar, minBar = 40, 8
	maxRowName     = 24
)

// progressRow draws "name [=====>----] text" in the width there is; where
// the total is not known, or no room for a bar, the name and text alone.
func progressRow(read func() Progress) mpb.BarFiller {
	style := mpb.BarStyle().Build()
	return mpb.BarFillerFunc(func(w io.Writer, stat decor.Statistics) error {
		p := read()
		width := stat.AvailableWidth
		name := runewidth.FillRight(runewidth.Truncate(p.Name, maxRowName, "…"), maxRowName)
		if width < 2*maxRowName {
			name = p.Name
		}
		room := min(maxBar, width-runewidth.StringWidth(name)-runewidth.StringWidth(p.Text)-3)
		if p.Total <= 0 || room < minBar {
			_, err := io.WriteString(w, fit(name+" "+p.Text, width))
			return err
		}
		if _, err := io.WriteString(w, name+" "); err != nil {
			return err
		}
		stat.AvailableWidth, stat.RequestedWidth = room, room
		stat.Total, stat.Current = p.Total, min(p.Done, p.Total)
		if err := style.Fill(w, stat); err != nil {
			return err
		}
		_, err := io.WriteString(w, " "+p.Text)
		return err
	})
}

// fit makes text one line of at most width columns, the last of which is left
// free: some terminals wrap when it is written.
func fit(text string, width int) string {
	if width < 2 {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	return runewidth.Truncate(text, width-1, "…")
}
