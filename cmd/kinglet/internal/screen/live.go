package screen

import (
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// live draws through mpb, whose one goroutine owns the terminal: what is
// written above the bars is written in the same breath in which they are
// erased and drawn again.
type live struct {
	bars *mpb.Progress
	out  io.Writer // nil if stdout is the terminal that the bars are on
}

func newLive(terminal *os.File, out io.Writer) *live {
	return &live{bars: mpb.New(mpb.WithOutput(terminal)), out: out}
}

func (l *live) Event(lines []byte) error {
	if l.out != nil {
		_, err := l.out.Write(lines)
		return err
	}
	_, err := l.bars.Write(lines)
	return err
}

func (l *live) Note(line string) {
	// The only error is that the terminal has gone.
	_, _ = io.WriteString(l.bars, line+"\n")
}

func (l *live) Progress(read func() Progress) (remove func()) {
	bar := l.bars.MustAdd(0, progressRow(read), mpb.BarFillerTrim(), mpb.BarPriority(0))
	return func() { bar.Abort(true) }
}

func (l *live) Status(read func(width int) string) {
	row := mpb.BarFillerFunc(func(w io.Writer, stat decor.Statistics) error {
		_, err := io.WriteString(w, fit(read(stat.AvailableWidth), stat.AvailableWidth))
		return err
	})
	l.bars.MustAdd(0, row, mpb.BarFillerTrim(), mpb.BarPriority(1))
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
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	return runewidth.Truncate(text, max(0, width-1), "…")
}
