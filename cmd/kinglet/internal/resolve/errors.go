package resolve

import (
	"fmt"
	"strings"
)

// UnknownError says that the server has no resource of that name.
type UnknownError struct {
	Name string
	// Similar are names that it has.
	Similar []string
	// Unavailable are API groups that the server could not tell about; the
	// resource may be in one of them.
	Unavailable []string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("the server doesn't have a resource type %q", e.Name)
	switch {
	case len(e.Similar) > 0:
		text += "; did you mean " + strings.Join(e.Similar, " or ") + "?"
	default:
		text += "; see: kubectl api-resources"
	}
	if len(e.Unavailable) > 0 {
		text += " (these API groups do not answer: " + strings.Join(e.Unavailable, ", ") + ")"
	}
	return text
}

// UnwatchableError says that the server has the resource, but does not let
// anybody follow it.
type UnwatchableError struct {
	Resource string
	// Lacking are the verbs that it would need.
	Lacking []string
}

func (e *UnwatchableError) Error() string {
	return fmt.Sprintf("%s: this resource cannot be watched, it does not support %s", e.Resource, strings.Join(e.Lacking, " and "))
}

// ArgumentError says that an argument is no list of resource types.
type ArgumentError struct {
	Argument string
	Problem  string
}

func (e *ArgumentError) Error() string { return e.Problem }
