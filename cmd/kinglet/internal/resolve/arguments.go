package resolve

import (
	"fmt"
	"strings"
)

// Split reads the arguments of a command that takes RESOURCE[,RESOURCE…]. It
// knows what people used to kubectl type, and says what to type instead. The
// error is an *ArgumentError.
func Split(args []string) ([]string, error) {
	switch {
	case len(args) == 0:
		return nil, &ArgumentError{Problem: "say what to watch, for example: kinglet watch pods,deployments"}
	case len(args) > 1 && (strings.HasSuffix(args[0], ",") || strings.HasPrefix(args[1], ",")):
		return nil, &ArgumentError{Argument: args[1], Problem: fmt.Sprintf("one list without spaces: kinglet watch %s", joinList(args))}
	case len(args) > 1:
		return nil, &ArgumentError{Argument: args[1], Problem: fmt.Sprintf(
			"unexpected argument %q: to watch several resources write kinglet watch %s; to watch one object write kinglet watch %s --field-selector metadata.name=%s",
			args[1], strings.Join(args, ","), args[0], args[1])}
	}
	var names []string
	for name := range strings.SplitSeq(args[0], ",") {
		name = strings.TrimSpace(name)
		if resource, object, ok := strings.Cut(name, "/"); ok {
			return nil, &ArgumentError{Argument: name, Problem: fmt.Sprintf(
				"%q names one object; write kinglet watch %s --field-selector metadata.name=%s", name, resource, object)}
		}
		if name == "" {
			return nil, &ArgumentError{Argument: args[0], Problem: fmt.Sprintf("there is an empty name in %q", args[0])}
		}
		names = append(names, name)
	}
	return names, nil
}

func joinList(args []string) string {
	var names []string
	for _, arg := range args {
		for name := range strings.SplitSeq(arg, ",") {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ",")
}
