package kinglet

import (
	"context"
	"log/slog"
	"time"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/phaselog"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// logger writes what an informer logs.
type logger struct {
	name string
	to   *slog.Logger // nil is slog.Default(), at the time
}

func (o *Options[T]) log() logger { return logger{o.Name, o.Logger} }

func (l logger) write(level slog.Level, message string, args ...any) {
	to := l.to
	if to == nil {
		to = slog.Default()
	}
	to.Log(context.Background(), level, message, append([]any{"informer", l.name}, args...)...)
}

// failure is Options.OnError where there is none. What status logs is left to it.
func (l logger) failure(err error) {
	if _, request := errtype.As[*reflector.Error](err); !request {
		l.write(slog.LevelWarn, "informer", "err", err)
	}
}

// readPath logs that objects are read on another path than before, except that
// of the first answer if it is the one that the source was made for.
func (l logger) readPath(before, now ReadPath) {
	if before.Path == source.PathUnknown && !now.Lost() {
		return
	}
	l.write(slog.LevelInfo, "informer reads another way", "before", before.Path, "now", now.Path, "why", now.Why)
}

// status returns what logs changes of phase.
func (l logger) status() func(reflector.Status) {
	var phases phaselog.Log
	if l.to != nil {
		if handler, ok := l.to.Handler().(phaselog.Expecting); ok {
			phases.Expected = handler.Expects
		}
	}
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
