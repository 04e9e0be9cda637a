package conformance

import (
	"fmt"
	"strings"

	"k8s.io/klog/v2"
)

// logs is a logger that keeps its lines:
//
//	Waiting for=pods
//	error Observed a panic: it failed logger=mine
type logs struct{ logbook }

// logger returns a logger into l.
func (l *logs) logger() klog.Logger { return klog.New(logSink{logs: l}) }

// with returns the lines that contain all parts, since the last call.
func (l *logs) with(parts ...string) []string {
	var list []string
	for _, line := range l.take() {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			list = append(list, line)
		}
	}
	return list
}

type logSink struct {
	logs   *logs
	values []any
}

func (logSink) Init(klog.RuntimeInfo) {}
func (logSink) Enabled(int) bool      { return true }

func (s logSink) Info(_ int, msg string, keysAndValues ...any) { s.write(msg, keysAndValues) }

func (s logSink) Error(err error, msg string, keysAndValues ...any) {
	s.write(fmt.Sprintf("error %s: %v", msg, err), keysAndValues)
}

func (s logSink) write(line string, keysAndValues []any) {
	all := append(append([]any(nil), s.values...), keysAndValues...)
	for i := 0; i+1 < len(all); i += 2 {
		line += fmt.Sprintf(" %v=%v", all[i], all[i+1])
	}
	s.logs.write(line)
}

func (s logSink) WithValues(keysAndValues ...any) klog.LogSink {
	s.values = append(append([]any(nil), s.values...), keysAndValues...)
	return s
}

func (s logSink) WithName(name string) klog.LogSink { return s.WithValues("logger", name) }
