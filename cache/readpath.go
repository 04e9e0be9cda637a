package cache

import (
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// pathVerbosity is the verbosity of the line about an informer that does not
// read the wire from the beginning. Programs that were written for client-go
// have many such informers, and did not ask for anything else; Observable shows
// it for each.
const pathVerbosity = 2

// logReadPath logs that objects of the type described are read another way than
// before. After the first answer, a change is logged at any verbosity.
func logReadPath(logger klog.Logger, description string, before, now kinglet.ReadPath) {
	if before.Path == source.PathUnknown {
		if !now.Lost() {
			return
		}
		logger = logger.V(pathVerbosity)
	}
	args := []any{"type", description, "before", before.Path.String(), "now", now.Path.String()}
	if now.Why != nil {
		args = append(args, "why", now.Why.Error())
	}
	logger.Info("Objects are read another way", args...)
}
