package cache

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/internal/phaselog"
)

// Verbosities of log lines about phases. A failure, and the recovery from it, is logged
// at any verbosity.
const (
	phaseVerbosity = 2
	usualVerbosity = 4
)

// phaseLogger writes what a kinglet informer logs, which is only about its phases here,
// to the klog logger of the informer's context.
type phaseLogger struct{ core *informerCore }

func (phaseLogger) Enabled(context.Context, slog.Level) bool { return true }

func (l phaseLogger) Handle(_ context.Context, r slog.Record) error {
	ctx, _, _ := l.core.state()
	if ctx == nil {
		ctx = context.Background()
	}
	logger := klog.FromContext(ctx)
	switch {
	case r.Level < slog.LevelInfo:
		logger = logger.V(usualVerbosity)
	case r.Level == slog.LevelInfo && r.Message != phaselog.Well.String():
		logger = logger.V(phaseVerbosity)
	}
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, a.Key, a.Value.Any())
		return true
	})
	logger.Info(r.Message, args...)
	return nil
}

// WithAttrs and WithGroup are not called by a kinglet informer.
func (l phaseLogger) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l phaseLogger) WithGroup(string) slog.Handler      { return l }

// logPhase writes a line as phaseLogger does.
func logPhase(logger klog.Logger, description string, line phaselog.Line) {
	switch {
	case line.Usual():
		logger = logger.V(usualVerbosity)
	case line.What != phaselog.Fails && line.What != phaselog.Well:
		logger = logger.V(phaseVerbosity)
	}
	logger.Info(line.What.String(), append([]any{"informer", description}, line.Attributes()...)...)
}
