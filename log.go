package kinglet

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/phaselog"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// logger writes the log of an informer.
type logger struct {
	name string
	to   *slog.Logger // if nil, slog.Default() at the time of each line
}

func (o *Options[T]) log() logger { return logger{o.Name, o.Logger} }

func (l logger) write(level slog.Level, message string, args ...any) {
	cmp.Or(l.to, slog.Default()).Log(context.Background(), level, message, append([]any{"informer", l.name}, args...)...)
}

// failure is the default of Options.OnError. It leaves failed requests to status.
func (l logger) failure(err error) {
	if _, request := errtype.As[*reflector.Error](err); !request {
		l.write(slog.LevelWarn, "informer", "err", err)
	}
}

// readPath logs that objects are read on another path than before. It does not log the
// first answer if that is read as the source was made to.
func (l logger) readPath(before, now ReadPath) {
	if before.Path == source.PathUnknown && !now.Lost() {
		return
	}
	l.write(slog.LevelInfo, "informer reads another way", "before", before.Path, "now", now.Path, "why", now.Why)
}

// status returns a function that logs changes of phase.
func (l logger) status() func(reflector.Status) {
	var phases phaselog.Log
	return func(s reflector.Status) {
		line, ok := phases.Next(time.Now(), &s)
		if !ok {
			return
		}
		level := slog.LevelInfo
		switch {
		case line.What == phaselog.Fails:
			level = slog.LevelWarn
		case line.Usual():
			level = slog.LevelDebug
		}
		l.write(level, line.What.String(), line.Attributes()...)
	}
}
