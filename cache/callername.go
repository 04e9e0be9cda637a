package cache

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// callerName returns the file and line of the closest caller outside of this
// package, which name a reflector that was given no name. Constructors call it,
// since a goroutine has no caller.
func callerName() string {
	here := reflect.TypeFor[Config]().PkgPath() + "."
	// As deep as constructors call each other here, with room to spare.
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		outside := !strings.HasPrefix(frame.Function, here) && !strings.HasPrefix(frame.Function, "runtime.")
		if frame.Function != "" && outside {
			return fmt.Sprintf("%s:%d", shortFile(frame.File), frame.Line)
		}
		if !more {
			return "????"
		}
	}
}

// shortFile is a file's path without the part that is specific to this machine.
func shortFile(file string) string {
	for _, root := range []string{"/vendor/", "/src/"} {
		if i := strings.LastIndex(file, root); i >= 0 {
			return file[i+len(root):]
		}
	}
	if i := strings.LastIndex(file, "/pkg/"); i >= 0 {
		return file[i+1:]
	}
	return file
}
